package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/outside"
)

// How often the queue is looked at, and how often that is shown where lines are not rewritten.
const (
	lookEvery = 100 * time.Millisecond
	showEvery = time.Second
)

// until watches until a call is held, or, without held, until no job is live and no event left.
func (r *run) until(ctx context.Context, held <-chan outside.Visit) (v outside.Visit, err error) {
	defer r.wipe()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		s, err := r.client.Queue(queueName).Stats(ctx)
		if err != nil {
			return v, err
		}
		events, err := r.look(ctx)
		if err != nil {
			return v, err
		}
		over := s.Live() == 0 && events.left == 0
		switch {
		case over && held == nil:
			return v, nil
		case over:
			return v, errors.New("all jobs ended, and none of them was held outside")
		}
		if err := r.crew.fallen(); err != nil {
			return v, err
		}
		if r.live || time.Since(r.shown) >= showEvery {
			r.shown = time.Now()
			r.progress(r.state(s, events))
		}
		select {
		case <-ctx.Done():
			return v, context.Cause(ctx)
		case v := <-held:
			return v, nil
		case <-look.C:
		}
	}
}

// state tells in a line how far the queue and the subscriptions are.
func (r *run) state(s waybill.QueueStats, events underWay) string {
	return fmt.Sprintf("%4.1f s: %d of %d jobs, %d of %d events ended; %d active, %d in retry, %d due later",
		time.Since(r.began).Seconds(), s.Completed+s.Died, s.Accepted, events.ended, events.ended+events.left,
		s.Active+events.active, s.Retry+events.retry, s.Scheduled)
}
