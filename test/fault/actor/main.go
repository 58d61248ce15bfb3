// Command actor is the process that the fault programme kills, freezes and cuts off: a producer, a worker, a waiter, a relay.
// It uses the library as any program does. Where it is told to, it stops at a point, says so, and waits until it is let go; what
// happens to it meanwhile is the director's. Its points lie in hooks around its Redis client, its database driver and its
// handlers, and in the library where package boundary names them.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/test/fault/stage"
	"github.com/waybillhq/waybill/test/internal/victim"
)

func main() {
	var o stage.Orders
	if err := json.Unmarshal([]byte(os.Args[1]), &o); err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	a := &actor{Orders: o, stop: &stopper{at: o.Stop, skip: o.Skip, free: make(chan struct{}, 1)}}
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			a.stop.goOn()
		}
		a.stop.goOn()
		stop()
	}()
	if err := a.run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", o.Name, err)
		os.Exit(1)
	}
}

// actor is what all roles have.
type actor struct {
	stage.Orders

	stop   *stopper
	tells  *history.Recorder
	client *waybill.Client
}

func (a *actor) run(ctx context.Context) error {
	file, err := os.OpenFile(a.History, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	a.tells = history.New(file, a.Name)
	rdb, err := victim.Redis(a.Redis)
	if err != nil {
		return err
	}
	defer rdb.Close()
	rdb.AddHook(a.calls())
	if a.client, err = waybill.NewClient(rdb, waybill.ClientOptions{}); err != nil {
		return err
	}
	a.client.Use(a.tells.Enqueues)
	roles := map[stage.Role]func(context.Context) error{
		stage.Produce: a.produce, stage.Publish: a.publish, stage.Await: a.await, stage.Work: a.work, stage.Subscribe: a.subscribe,
		stage.Relay: a.relay,
	}
	role, ok := roles[a.Role]
	if !ok {
		return fmt.Errorf("role %q is unknown", a.Role)
	}
	if err := role(ctx); err != nil {
		return err
	}
	if a.Role == stage.Produce || a.Role == stage.Publish || a.Role == stage.Await {
		<-ctx.Done()
	}
	return a.tells.Err()
}

func (a *actor) logger() *slog.Logger { return victim.Logger(slog.LevelError) }
