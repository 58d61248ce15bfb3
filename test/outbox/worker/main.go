// Command worker is the process that the tests kill: a relay of an outbox, or a worker of its queue.
package main

import (
	"context"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/test/internal/victim"
	outboxtest "github.com/waybillhq/waybill/test/outbox"
)

func main() { victim.Main(run) }

func run(ctx context.Context, o outboxtest.Orders) error {
	rdb, err := victim.Redis(o.Redis)
	if err != nil {
		return err
	}
	defer rdb.Close()
	t := newTrap(o)
	if o.Die == outboxtest.ReplyDropped {
		rdb.AddHook(victim.Unanswered(o.Enqueue, func() { t.reach(outboxtest.ReplyDropped) }))
	}
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	defer client.Close()
	if o.Role == outboxtest.Work {
		return work(ctx, client, o)
	}
	return relay(t.watch(ctx), client, o)
}
