// Command worker is the process that the tests kill: a relay of an outbox, or a worker of its queue.
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
	outboxtest "github.com/waybillhq/waybill/test/outbox"
)

func main() {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test lets go, or is gone
	}()
	var o outboxtest.Orders
	if err := json.Unmarshal([]byte(os.Args[1]), &o); err != nil {
		log.Fatal(err)
	}
	if err := run(ctx, o); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, o outboxtest.Orders) error {
	at, err := redis.ParseURL(o.Redis)
	if err != nil {
		return err
	}
	at.MaxRetries = -1
	rdb := redis.NewClient(at)
	defer rdb.Close()
	t := newTrap(o)
	if o.Die == outboxtest.ReplyDropped {
		rdb.AddHook(hook{t, o.Enqueue})
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

// say writes a line in one piece.
func say(s outboxtest.Said) {
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
