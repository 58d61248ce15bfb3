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

// until watches until a call is held, or, without held, until no job is live.
func (r *run) until(ctx context.Context, held <-chan outside.Visit) (v outside.Visit, err error) {
	defer r.wipe()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		s, err := r.client.Queue(queueName).Stats(ctx)
		if err != nil {
			return v, err
		}
		switch {
		case s.Live() == 0 && held == nil:
			return v, nil
		case s.Live() == 0:
			return v, errors.New("all jobs ended, and none of them was held outside")
		}
		if err := r.crew.fallen(); err != nil {
			return v, err
		}
		if r.live || time.Since(r.shown) >= showEvery {
			r.shown = time.Now()
			r.progress(r.state(s))
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

// state tells in a line how far the queue is.
func (r *run) state(s waybill.QueueStats) string {
	return fmt.Sprintf("%4.1f s: %d of %d ended, %d ready, %d active, %d to be tried again, %d due later",
		time.Since(r.began).Seconds(), s.Completed+s.Died, s.Accepted, s.Ready, s.Active, s.Retry, s.Scheduled)
}
