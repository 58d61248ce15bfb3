// Command testing is a service small enough to show how one is tested: see main_test.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/topic"
)

type account struct{ Email string }

var (
	sendWelcome = waybill.Define[account]("welcome.send", waybill.KindOptions{Queue: "mail"})
	sendTips    = waybill.Define[account]("tips.send", waybill.KindOptions{Queue: "mail"})
)

// closed is the topic of accounts that were closed.
var closed = topic.Define[account]("accounts.closed")

var errBadAddress = errors.New("bad address")

// service has what it needs as fields, so that a test can put others in their place. send's key is the same when a mail
// is sent again.
type service struct {
	jobs *waybill.Client
	send func(ctx context.Context, key, to, subject string) error
}

// signUp is a producer: it enqueues, and nothing more.
func (s *service) signUp(ctx context.Context, email string) error {
	_, err := sendWelcome.Enqueue(ctx, s.jobs, account{email}, waybill.ID("welcome/"+email))
	return err
}

// welcome is a handler.
func (s *service) welcome(ctx context.Context, job *waybill.Job[account]) error {
	err := s.send(ctx, job.IdempotencyKey(), job.Args.Email, "Welcome")
	if errors.Is(err, errBadAddress) {
		return waybill.Dead(err)
	}
	if err != nil {
		return err
	}
	_, err = sendTips.Enqueue(ctx, s.jobs, job.Args, waybill.CausedBy(job.Attempt, "tips"), waybill.After(24*time.Hour))
	return err
}

func (s *service) tips(ctx context.Context, job *waybill.Job[account]) error {
	return s.send(ctx, job.IdempotencyKey(), job.Args.Email, "Three tips")
}

// closeAccount publishes an event: who does what with it is not its concern.
func (s *service) closeAccount(ctx context.Context, email string) error {
	_, err := closed.Publish(ctx, s.jobs, account{email}, waybill.ID("closed/"+email))
	return err
}

// goodbye is the handler of a subscription.
func (s *service) goodbye(ctx context.Context, job *waybill.Job[account]) error {
	return s.send(ctx, job.IdempotencyKey(), job.Args.Email, "Goodbye")
}

// handle gives the worker all handlers, here and in tests.
func (s *service) handle(w *waybill.Worker) {
	sendWelcome.Handle(w, s.welcome)
	sendTips.Handle(w, s.tips)
	closed.Subscribe(w, "mail", topic.SubscribeOptions{}, s.goodbye)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client, err := waybill.NewClient(redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"}), waybill.ClientOptions{})
	if err != nil {
		log.Fatal(err)
	}
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	s := &service{client, func(_ context.Context, _, to, subject string) error {
		fmt.Printf("to %s: %s\n", to, subject)
		return nil
	}}
	s.handle(worker)
	if err := errors.Join(s.signUp(ctx, "ann@example.com"), worker.Run(ctx)); err != nil {
		log.Fatal(err)
	}
}
