package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/database"
	"github.com/waybillhq/waybill/receipt"
)

const (
	childWord = "child"
	took      = "took a job" // a child's line for each delivery
	lease     = 500 * time.Millisecond
)

// A point is where a worker kills itself.
type point string

const (
	nowhere   point = ""
	claimed   point = "claimed"   // it has the job
	between   point = "between"   // of two steps that are not one transaction
	committed point = "committed" // the effect stands, and Redis does not know
)

// orders are what a worker is told.
type orders struct {
	way   string // name in ways or listWays
	queue string // also the name of the account
	die   point
}

// worker is a child process.
type worker struct {
	orders
	rdb      *redis.Client
	account  account
	receipts *receipt.Receipts
}

// dieAt kills this process, as kill -9 or a lack of memory would, where it was ordered to.
func (w *worker) dieAt(p point) {
	if p != w.die {
		return
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // nothing after this line may run until the signal is there
}

func child(ctx context.Context, args []string) error {
	var w worker
	var o options
	flags := flag.NewFlagSet(childWord, flag.ContinueOnError)
	flags.StringVar(&o.redis, "redis", "", "")
	flags.StringVar(&o.database, "database", "", "")
	flags.StringVar(&w.way, "way", "", "")
	flags.StringVar(&w.queue, "queue", "", "")
	flags.StringVar((*string)(&w.die), "die", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	at, err := redis.ParseURL(o.redis)
	if err != nil {
		return err
	}
	w.rdb = redis.NewClient(at)
	defer w.rdb.Close()
	db, dialect, err := database.Open(ctx, o.database)
	if err != nil {
		return err
	}
	defer db.Close()
	w.account = account{db, dialect, w.queue}
	if w.receipts, err = receipt.New(db, dialect, receipt.Options{}); err != nil {
		return err
	}
	if handle, ok := ways()[w.way]; ok {
		return w.work(ctx, handle)
	}
	if take, ok := listWays()[w.way]; ok {
		return take(&w, ctx)
	}
	return fmt.Errorf("way %q is unknown", w.way)
}

type handler func(*worker, context.Context, *waybill.Job[add]) error

// work is a worker of Waybill, until it is killed.
func (w *worker) work(ctx context.Context, handle handler) error {
	client, err := waybill.NewClient(w.rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	defer client.Close()
	runs, err := waybill.NewWorker(client, waybill.WorkerOptions{Lease: lease})
	if err != nil {
		return err
	}
	addToTotal.On(w.queue).Handle(runs, func(ctx context.Context, job *waybill.Job[add]) error { return handle(w, ctx, job) })
	return runs.Run(ctx)
}
