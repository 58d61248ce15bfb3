package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/bench/internal/private"
	"github.com/waybillhq/waybill/internal/devredis"
	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/outbox"
)

// rig is a database with the application's table and an outbox, and a Redis.
type rig struct {
	dialect dialect.Dialect
	db      *private.Database
	redis   *devredis.Server
	rdb     *redis.Client
	client  *waybill.Client
	box     *outbox.Outbox
	queue   string // of the jobs
	options outbox.Options
	jobs    atomic.Int64
}

func newRig(ctx context.Context, d dialect.Dialect, notify bool) (*rig, error) {
	r := &rig{dialect: d, queue: "mail", options: outbox.Options{Notify: notify}}
	if err := r.open(ctx); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *rig) open(ctx context.Context) (err error) {
	if r.db, err = private.Open(ctx, r.dialect); err != nil {
		return err
	}
	if r.redis, err = devredis.Start(ctx, devredis.Options{}); err != nil {
		return err
	}
	o, err := redis.ParseURL(r.redis.URL())
	if err != nil {
		return err
	}
	r.rdb = redis.NewClient(o)
	if r.client, err = waybill.NewClient(r.rdb, waybill.ClientOptions{}); err != nil {
		return err
	}
	if _, err = outbox.Migrate(ctx, r.db.DB, r.dialect, outbox.Options{}); err != nil {
		return err
	}
	if r.box, err = outbox.New(r.db.DB, r.dialect, r.options); err != nil {
		return err
	}
	return r.db.Accounts(ctx)
}

func (r *rig) close() {
	if r.client != nil {
		_ = r.client.Close() // it always succeeds
	}
	if r.rdb != nil {
		_ = r.rdb.Close() // its server ends next
	}
	if r.redis != nil {
		_ = r.redis.Close() // a temporary folder
	}
	if r.db != nil {
		_ = r.db.Close() // likewise
	}
}

// payload has 200 bytes.
var payload = []byte(`"` + strings.Repeat("x", 198) + `"`)

func (r *rig) request() waybill.Request {
	return waybill.Request{Queue: r.queue, Kind: "mail", ID: fmt.Sprint("order-", r.jobs.Add(1)), Payload: payload}
}

// order is a transaction of the application: one row changed, one job entered.
func (r *rig) order(ctx context.Context) error {
	return r.db.In(ctx, func(tx *sql.Tx) error {
		if err := r.db.Deposit(ctx, tx); err != nil {
			return err
		}
		return r.box.Enqueue(ctx, tx, r.request())
	})
}

// fill enters rows in bulk.
func (r *rig) fill(ctx context.Context, n int) error {
	for n > 0 {
		some := make([]waybill.Request, min(n, 1000))
		for i := range some {
			some[i] = r.request()
		}
		n -= len(some)
		if err := r.db.In(ctx, func(tx *sql.Tx) error { return r.box.Enqueue(ctx, tx, some...) }); err != nil {
			return err
		}
	}
	return nil
}

// during runs what ends with its context, until stop is called.
func during(ctx context.Context, f ...func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	errs := make([]error, len(f))
	var all sync.WaitGroup
	for i := range f {
		all.Go(func() { errs[i] = f[i](ctx) })
	}
	return func() error {
		cancel()
		all.Wait()
		return errors.Join(errs...)
	}
}

func (r *rig) relay(ctx context.Context) error { return r.box.Relay(ctx, r.client) }

// work runs the jobs of the queue; each calls h.
func (r *rig) work(ctx context.Context, h func(*waybill.Attempt)) error {
	w, err := waybill.NewWorker(r.client, waybill.WorkerOptions{Queues: []waybill.QueueOptions{{Name: r.queue, Concurrency: 10}}})
	if err != nil {
		return err
	}
	w.HandleFunc(waybill.AnyKind, waybill.KindOptions{}, func(_ context.Context, a *waybill.Attempt) ([]byte, error) {
		h(a)
		return nil, nil
	})
	return w.Run(ctx)
}

// left is how many rows are not sent.
func (r *rig) left(ctx context.Context) (n int64, err error) {
	lags, err := r.box.Lag(ctx)
	for _, l := range lags {
		n += l.New
	}
	return n, err
}

const look = 10 * time.Millisecond
