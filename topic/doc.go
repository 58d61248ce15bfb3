// Package topic is fan-out: one event reaches several subscriptions, each at its own pace, with retries, leases and dead letters
// of its own. A topic is a Redis stream; a subscription is a place in it and a queue: what it takes from the stream become
// jobs of that queue, "orders/billing", and everything that works for queues works for them.
//
//	var Orders = topic.Define[Order]("orders")
//
//	Orders.Subscribe(worker, "billing", topic.SubscribeOptions{}, func(ctx context.Context, job *waybill.Job[Order]) error {
//		return bill(ctx, job.Args)
//	})
//
//	_, err := Orders.Publish(ctx, client, Order{ID: 17})
//
// An event is delivered at least once to each subscription that exists when it is published, and to later ones that begin
// before it. Receipts make its effect happen once in each. First deliveries start in the order of publication where one
// worker process with a concurrency of 1 works a subscription off and no event is retried; else there is no order.
package topic
