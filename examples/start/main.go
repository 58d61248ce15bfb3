// Command start is the program of docs/guides/start.md: a worker, and with a name as its argument a producer.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

type greeting struct {
	Name string `json:"name"`
}

var greet = waybill.DefineResult[greeting, string]("greet", waybill.KindOptions{
	Queue:       "greetings",
	MaxFailures: 3,                          // the third failure kills
	Retry:       waybill.Fixed(time.Second), // by default 1 s, 2 s, 4 s … up to an hour
})

func handle(_ context.Context, job *waybill.Job[greeting]) (string, error) {
	card, err := os.ReadFile("card.txt")
	if err != nil {
		return "", err // a failure: tried again
	}
	return strings.Replace(strings.TrimSpace(string(card)), "NAME", job.Args.Name, 1), nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Getenv("WAYBILL_REDIS"), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string, names []string) error {
	options, err := redis.ParseURL(url)
	if err != nil {
		return err
	}
	client, err := waybill.NewClient(redis.NewClient(options), waybill.ClientOptions{})
	if err != nil {
		return err
	}
	for _, name := range names { // the producer
		text, err := greet.Call(ctx, client, greeting{name}, waybill.ID("greet-"+name))
		if err != nil {
			return err
		}
		fmt.Println(text)
	}
	if len(names) > 0 {
		return nil
	}
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{})
	if err != nil {
		return err
	}
	greet.Handle(worker, handle)
	return worker.Run(ctx) // until Ctrl-C
}
