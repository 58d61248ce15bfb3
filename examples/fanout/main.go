// Command fanout publishes orders to a topic, lets three subscriptions each do their own with them, and replays one of them.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/topic"
)

type order struct {
	Number int
	Cents  int
}

// Declared once, for those who publish and those who subscribe.
var orders = topic.Define[order]("orders")

// shop is what the subscribers do: each tells what it did.
type shop struct{ did chan string }

func (s shop) mail(_ context.Context, job *waybill.Job[order]) error {
	s.did <- fmt.Sprintf("mail: order %d is confirmed", job.Args.Number)
	return nil
}

func (s shop) bill(_ context.Context, job *waybill.Job[order]) error {
	if job.Args.Cents < 0 {
		s.did <- fmt.Sprintf("billing: order %d can't be billed", job.Args.Number)
		return waybill.Dead(errors.New("less than nothing")) // a dead letter of this subscription, and of no other
	}
	s.did <- fmt.Sprintf("billing: %d cents for order %d", job.Args.Cents, job.Args.Number)
	return nil
}

func (s shop) count(_ context.Context, job *waybill.Job[order]) error {
	if job.Replay != "" {
		s.did <- fmt.Sprintf("analytics: order %d, again by %s", job.Args.Number, job.Replay)
		return nil
	}
	s.did <- fmt.Sprintf("analytics: order %d", job.Args.Number)
	return nil
}

// worker makes one that serves all three; in a company each would be a service of its own.
func worker(client *waybill.Client, s shop) (*waybill.Worker, error) {
	w, err := waybill.NewWorker(client, waybill.WorkerOptions{Logger: slog.Default()}) // without one a worker is silent
	if err != nil {
		return nil, err
	}
	orders.Subscribe(w, "mail", topic.SubscribeOptions{}, s.mail)
	orders.Subscribe(w, "billing", topic.SubscribeOptions{MaxFailures: 5}, s.bill)
	orders.Subscribe(w, "analytics", topic.SubscribeOptions{Concurrency: 1}, s.count)
	return w, nil
}

func main() {
	if err := run(context.Background(), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, rdb redis.UniversalClient) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	defer client.Close()
	if err := prepare(ctx, client); err != nil {
		return err
	}
	if err := publish(ctx, client); err != nil {
		return err
	}
	s := shop{make(chan string)}
	w, err := worker(client, s)
	if err != nil {
		return err
	}
	work, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(work) }()
	s.tell(6)
	if err := again(ctx, client, time.Now().Add(-time.Hour), time.Now()); err != nil {
		return err
	}
	s.tell(2)
	stop()
	return <-ended
}

// prepare makes the subscriptions before the first event, and keeps events for a day, so that they can be replayed.
func prepare(ctx context.Context, client *waybill.Client) error {
	for _, name := range []string{"mail", "billing", "analytics"} {
		if _, err := orders.Create(ctx, client, name, topic.Beginning); err != nil {
			return err
		}
	}
	return orders.Stream(client).Set(ctx, topic.Settings{Keep: new(24 * time.Hour)})
}

// publish sends two orders. One ID is one event: the third is a duplicate, and reaches nobody again.
func publish(ctx context.Context, client *waybill.Client) error {
	for _, o := range []order{{1, 995}, {2, -1}, {1, 995}} {
		sent, err := orders.Publish(ctx, client, o, waybill.ID(fmt.Sprintf("order-%d", o.Number)))
		if err != nil {
			return err
		}
		fmt.Println(sent.ID, sent.Outcome)
	}
	return nil
}

// again delivers the events of some time to one subscription once more.
func again(ctx context.Context, client *waybill.Client, noon, one time.Time) error {
	o := topic.ReplayOptions{ID: "recount-1", From: topic.At(noon), To: topic.At(one)}
	done, err := orders.Stream(client).Replay(ctx, "analytics", o)
	if err != nil {
		return err
	}
	fmt.Printf("%d events replayed\n", done.Delivered)
	return nil
}

// tell prints what was done, in the order of the alphabet: the subscriptions work side by side.
func (s shop) tell(n int) {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = <-s.did
	}
	slices.Sort(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
}
