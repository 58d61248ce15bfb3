package topic_test

import (
	"context"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/topic"
)

func TestSubscribeResult(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("price")
	s.publish(1, 1)
	s.run(func(w *waybill.Worker) {
		topic.SubscribeResult(orders, w, "price", topic.SubscribeOptions{Retention: time.Hour},
			func(_ context.Context, job *waybill.Job[order]) (int, error) { return 100 * job.Args.Number, nil })
	})
	s.until("the result is kept by the event's ID", func() bool {
		job, err := s.c.Queue("orders/price").Get(t.Context(), "order-1")
		return err == nil && job.State == waybill.StateCompleted && string(job.Result) == "100"
	})
}
