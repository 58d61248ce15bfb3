// Command steps charges a card, sends a parcel and writes a mail in one job, while its workers are killed in between. Each
// step is kept in a database: a redelivery goes on at the first one that is unfinished.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/database"
	"github.com/waybillhq/waybill/internal/outside"
	"github.com/waybillhq/waybill/receipt"
)

type order struct {
	Number, Cents int
	Street, Mail  string
}

func (o order) JobID() string { return fmt.Sprintf("order-%d", o.Number) }

var fulfil = waybill.Define[order]("order.fulfil", waybill.KindOptions{
	Queue: "orders", Timeout: 5 * time.Minute, Retention: time.Hour,
})

func main() {
	if work, ok := workerOf(os.Getenv(envWorker)); ok {
		if err := work.run(context.Background()); err != nil {
			log.Fatal(err)
		}
		return
	}
	if err := steps(context.Background(), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})); err != nil {
		log.Fatal(err)
	}
}

// steps starts the other sides and a database, enqueues one order, and has three workers do it, of which two are killed.
func steps(ctx context.Context, rdb *redis.Client) error {
	dir, err := os.MkdirTemp("", "steps")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	gateway, err := outside.StartGateway(ctx, outside.Options{})
	if err != nil {
		return err
	}
	defer gateway.Close()
	carrier := startCarrier()
	defer carrier.server.Close()
	o := rdb.Options()
	w := worker{
		Network: o.Network, Redis: o.Addr, Database: "sqlite:" + filepath.Join(dir, "shop.db"),
		Gateway: gateway.URL(), Carrier: carrier.server.URL,
	}
	db, d, err := database.Open(ctx, w.Database)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err = receipt.Migrate(ctx, db, d, receipt.Options{}); err != nil {
		return err
	}
	if _, err = db.ExecContext(ctx, "CREATE TABLE mails (address TEXT, text TEXT)"); err != nil {
		return err
	}
	if err := enqueueAndWork(ctx, rdb, w); err != nil {
		return err
	}
	mails := 0
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM mails").Scan(&mails)
	fmt.Printf("%d charge, %d parcel, %d mail\n", gateway.Counts().Effects, carrier.sent(), mails)
	return err
}

func enqueueAndWork(ctx context.Context, rdb *redis.Client, w worker) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	defer client.Close()
	sent, err := fulfil.Enqueue(ctx, client, order{Number: 17, Cents: 900, Street: "1 Main Street", Mail: "ann@example.com"})
	if err != nil {
		return err
	}
	for _, w.Dies = range []string{"charge", "ship"} {
		if err := w.start(ctx).Wait(); err == nil {
			return errors.New("the worker was to be killed")
		}
		fmt.Printf("killed: %s was called, and its answer not saved\n", w.Dies)
	}
	w.Dies = ""
	last := w.start(ctx)
	err = fulfil.Wait(ctx, client, sent.ID)
	return errors.Join(err, last.Process.Signal(os.Interrupt), last.Wait())
}

// start starts this program as a worker.
func (w worker) start(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0]) //nolint:gosec // itself
	cmd.Env = append(os.Environ(), envWorker+"="+strings.Join([]string{
		w.Network, w.Redis, w.Database, w.Gateway, w.Carrier, w.Dies,
	}, "\n"))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		log.Fatal(err)
	}
	return cmd
}
