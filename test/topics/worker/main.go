// Command worker is the process that the tests kill: a publisher of events, or a worker of a subscription.
package main

import (
	"context"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/test/internal/victim"
	topictest "github.com/waybillhq/waybill/test/topics"
)

func main() { victim.Main(run) }

func run(ctx context.Context, o topictest.Orders) error {
	rdb, err := victim.Redis(o.Redis)
	if err != nil {
		return err
	}
	defer rdb.Close()
	t := newTrap(o)
	if o.Die == topictest.Unanswered {
		rdb.AddHook(victim.Unanswered(o.Claim, func() { t.reach(topictest.Unanswered, 1) }))
	}
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	defer client.Close()
	if o.Role == topictest.Publish {
		return publish(ctx, client, o)
	}
	return subscriber{o, t, rdb, client}.run(ctx)
}
