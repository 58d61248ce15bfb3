// Command worker is the process that the tests kill: a publisher of events, or a worker of a subscription.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	topictest "github.com/waybillhq/waybill/test/topics"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test lets go, or is gone
	}()
	var o topictest.Orders
	if err := json.Unmarshal([]byte(os.Args[1]), &o); err != nil {
		log.Fatal(err)
	}
	if err := run(ctx, o); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, o topictest.Orders) error {
	at, err := redis.ParseURL(o.Redis)
	if err != nil {
		return err
	}
	at.MaxRetries = -1
	rdb := redis.NewClient(at)
	defer rdb.Close()
	t := newTrap(o)
	if o.Die == topictest.Unanswered {
		rdb.AddHook(hook{t, o.Claim})
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

// say writes a line in one piece.
func say(s topictest.Said) {
	line, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	if _, err := os.Stdout.Write(append(line, '\n')); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}
