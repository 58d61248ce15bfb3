package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/test/internal/victim"
	topictest "github.com/waybillhq/waybill/test/topics"
)

// againAfter is how long a publisher waits before it repeats what Redis did not answer.
const againAfter = 20 * time.Millisecond

// publish sends events in their order, and says of each batch what became of it.
func publish(ctx context.Context, c *waybill.Client, o topictest.Orders) error {
	tick := time.NewTicker(max(o.Every, time.Microsecond))
	defer tick.Stop()
	for from := o.From; from < o.To; from += o.Batch {
		told := topictest.Told{From: from, To: min(from+o.Batch, o.To)}
		if err := batch(ctx, c, &told); err != nil {
			return err
		}
		victim.Say(topictest.Said{Told: &told})
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// batch publishes until Redis has answered for every event.
func batch(ctx context.Context, c *waybill.Client, told *topictest.Told) error {
	for left := topictest.Events(told.From, told.To); ; {
		answers, _ := topictest.Topic.PublishMany(ctx, c, left)
		var again []topictest.Event
		for i, a := range answers {
			switch {
			case errors.Is(a.Err, waybill.ErrUnavailable) || errors.Is(a.Err, waybill.ErrUnknown):
				again = append(again, left[i])
			case a.Outcome == waybill.OutcomeAccepted:
				told.Accepted++
			case a.Outcome == waybill.OutcomeDuplicate:
				told.Duplicates++
			default:
				return fmt.Errorf("event %s is %s: %w", a.ID, a.Outcome, a.Err)
			}
		}
		if left = again; len(left) == 0 {
			return nil
		}
		if err := pause(ctx, againAfter); err != nil {
			return err
		}
	}
}

// pause lets time pass, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
