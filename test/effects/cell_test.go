package effects_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/receipt"
	"github.com/waybillhq/waybill/test/effects"
)

const (
	queue   = "effects"
	workers = 2               // processes at a time in one cell
	lease   = 3 * time.Second // long beside the stalls of a busy machine
	// mostTime is how long a cell may take; it takes five to forty seconds, as the machine is busy.
	mostTime = 2 * time.Minute
)

// plan is one cell of the matrix.
type plan struct {
	database *sqltest.Database
	pgx      bool
	die      effects.Step
	build    effects.Build
	jobs     int
}

// cell is a plan with its own Redis and database.
type cell struct {
	plan
	t        *testing.T
	client   *waybill.Client
	server   *redistest.Server
	proxy    *redistest.Proxy // nil where nothing is lost
	db       *sql.DB
	receipts *receipt.Receipts

	mu     sync.Mutex
	deaths []effects.Death
	odd    []string // ends of workers that nobody ordered
}

// run plays a cell, and gives what is left.
func (p plan) run(t *testing.T) ledger {
	t.Helper()
	c := &cell{plan: p, t: t, server: redistest.Start(t), db: p.database.Open(t)}
	var err error
	c.client, err = waybill.NewClient(c.server.Client(), waybill.ClientOptions{})
	must(t, err)
	_, err = receipt.Migrate(t.Context(), c.db, p.database.Dialect, receipt.Options{})
	must(t, err)
	c.receipts, err = receipt.New(c.db, p.database.Dialect, receipt.Options{})
	must(t, err)
	_, err = c.db.ExecContext(t.Context(), // no unique key: what is done twice is there twice
		"CREATE TABLE effect (job VARCHAR(64) NOT NULL, attempt INTEGER NOT NULL, token VARCHAR(128) NOT NULL)")
	must(t, err)
	if p.die == effects.Unanswered {
		c.loseSettlements()
	}
	c.send(queue, p.jobs)
	c.work(queue, c.orders())
	return c.ledger()
}

func (c *cell) orders() effects.Orders {
	o := effects.Orders{
		Redis: c.server.URL(), Queue: queue, Driver: c.database.Driver, DSN: c.database.DSN, Dialect: string(c.database.Dialect),
		Build: c.build, Die: c.die, LeaseMS: lease.Milliseconds(), Settle: settleDigests(),
	}
	if c.pgx {
		o.Driver = effects.Pgx
	}
	if c.proxy != nil {
		o.Redis = c.proxy.URL()
	}
	return o
}

// loseSettlements lets the reply to every settlement be lost. One job is settled before: a server that does not know
// the script yet carries nothing out.
func (c *cell) loseSettlements() {
	c.t.Helper()
	const warm = "warm"
	o := c.orders()
	o.Queue, o.Die = warm, ""
	c.send(warm, 1)
	c.work(warm, o)
	_, err := c.db.ExecContext(c.t.Context(), "DELETE FROM effect")
	must(c.t, err)
	_, err = c.db.ExecContext(c.t.Context(), "DELETE FROM waybill_receipt")
	must(c.t, err)

	c.proxy = redistest.NewProxy(c.t, c.server)
	settle := settleDigests()
	c.proxy.LoseWhere(func(request []byte) bool {
		at := bytes.Index(request, []byte("$40\r\n"))
		return at >= 0 && at+45 <= len(request) && slices.Contains(settle, string(request[at+5:at+45]))
	})
}

func settleDigests() []string {
	var all []string
	for digest, verb := range store.Digests() {
		if verb == "settle" {
			all = append(all, digest)
		}
	}
	return all
}

func jobID(i int) string { return fmt.Sprintf("job-%02d", i) }

func (c *cell) send(queue string, jobs int) {
	c.t.Helper()
	kind := waybill.Define[effects.Args](effects.Kind, waybill.KindOptions{Queue: queue, Retention: time.Hour})
	requests := make([]waybill.Request, jobs)
	for i := range requests {
		requests[i] = kind.Request(effects.Args{N: i}, waybill.ID(jobID(i)))
	}
	_, err := c.client.EnqueueMany(c.t.Context(), requests)
	must(c.t, err)
}

// work keeps worker processes running, a new one for each that dies, until no job of the queue is live and no worker is
// about to die: one whose settlement was carried out, and whose reply was lost.
func (c *cell) work(queue string, o effects.Orders) {
	c.t.Helper()
	ctx, stop := context.WithTimeout(c.t.Context(), mostTime)
	defer stop()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for ctx.Err() == nil {
				c.one(ctx, o)
			}
		})
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		stats, err := c.client.Queue(queue).Stats(ctx)
		if err != nil || stats.Live() == 0 && (c.proxy == nil || c.died() == c.jobs) {
			stop()
			all.Wait()
			if err != nil {
				c.t.Fatalf("the jobs were not done: %v; workers: %q", err, c.odd)
			}
			return
		}
		<-tick.C
	}
}

func (c *cell) died() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.deaths)
}
