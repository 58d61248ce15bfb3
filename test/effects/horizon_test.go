package effects_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
)

// horizon is a queue and a database whose receipts are purged while jobs are still to come. Jobs are two days old, for
// a purge takes nothing that is younger than one.
type horizon struct {
	*testing.T
	server   *redistest.Server
	client   *waybill.Client
	db       *sql.DB
	receipts *receipt.Receipts
	kind     *waybill.Kind[int]
	fails    bool // the handler fails before it has an effect
}

const twoDays = 48 * time.Hour

func newHorizon(t *testing.T, d *sqltest.Database) *horizon {
	t.Helper()
	h := &horizon{T: t, server: redistest.Start(t), db: d.Open(t)}
	o := waybill.KindOptions{Queue: "old", MaxFailures: 1}
	h.kind = waybill.Define[int]("total.add", o)
	var err error
	h.client, err = waybill.NewClient(h.server.Client(), waybill.ClientOptions{})
	must(t, err)
	t.Cleanup(func() { _ = h.client.Close() })
	_, err = receipt.Migrate(t.Context(), h.db, d.Dialect, receipt.Options{})
	must(t, err)
	h.receipts, err = receipt.New(h.db, d.Dialect, receipt.Options{})
	must(t, err)
	for _, s := range []string{"CREATE TABLE total (n INTEGER)", "INSERT INTO total VALUES (0)"} {
		_, err = h.db.ExecContext(t.Context(), s)
		must(t, err)
	}
	return h
}

// enqueue brings a job in that was born two days ago.
func (h *horizon) enqueue(id string) {
	h.Helper()
	_, err := h.client.Queue("old").Restore(h.Context(), []waybill.JobInfo{{
		ID: id, Queue: "old", Kind: h.kind.Name(), State: waybill.StateReady, Known: true, Payload: []byte("10"), MaxFailures: 1,
		BornAt: time.Now().Add(-twoDays),
	}})
	must(h.T, err)
}

// work runs all that is ready. key makes the receipt's key of a job.
func (h *horizon) work(key func(*waybill.Job[int]) receipt.Key) {
	h.Helper()
	w, err := waybill.NewWorker(h.client, waybill.WorkerOptions{Concurrency: 1})
	must(h.T, err)
	h.kind.Handle(w, func(ctx context.Context, job *waybill.Job[int]) error {
		if h.fails {
			return errors.New("not yet")
		}
		_, err := h.receipts.Do(ctx, key(job), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE total SET n = n + 10")
			return err
		})
		return err
	})
	ctx, stop := context.WithCancel(h.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	defer func() {
		stop()
		must(h.T, <-ended)
	}()
	for {
		s, err := h.client.Queue("old").Stats(h.Context())
		must(h.T, err)
		if s.Live() == 0 {
			return
		}
		select {
		case <-h.Context().Done():
			h.Fatal("jobs do not end")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func byJob(job *waybill.Job[int]) receipt.Key { return receipt.For(job) }

func (h *horizon) purge() {
	h.Helper()
	_, err := h.receipts.Purge(h.Context(), "old", 25*time.Hour, nil)
	must(h.T, err)
	left, err := h.receipts.Scopes(h.Context())
	must(h.T, err)
	if len(left) != 0 {
		h.Fatalf("receipts are left: %v", left)
	}
}

// want checks the total, and which jobs are dead for being older than what was purged.
func (h *horizon) want(total int, dead ...string) {
	h.Helper()
	var n int
	must(h.T, h.db.QueryRowContext(h.Context(), "SELECT n FROM total").Scan(&n))
	if n != total {
		h.Errorf("the total is %d, want %d", n, total)
	}
	for _, id := range dead {
		j, err := h.client.Queue("old").Get(h.Context(), id)
		must(h.T, err)
		if len(j.Errors) == 0 || j.State != waybill.StateDead ||
			!strings.Contains(j.Errors[len(j.Errors)-1].Message, receipt.ErrHorizon.Error()) {
			h.Errorf("job %s is %s: %+v", id, j.State, j.Errors)
		}
	}
}

// older stops Redis and starts it again on a copy that was saved before.
func (h *horizon) older(copied []byte) {
	h.Helper()
	h.server.Kill()
	must(h.T, os.WriteFile(filepath.Join(h.server.Dir(), "dump.rdb"), copied, 0o600))
	h.server.Restart()
}

func (h *horizon) save() []byte {
	h.Helper()
	must(h.T, h.server.Client().Save(h.Context()).Err())
	b, err := os.ReadFile(filepath.Join(h.server.Dir(), "dump.rdb"))
	must(h.T, err)
	return b
}

func TestHorizon(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		if d.Dialect == dialect.SQLite && d.Driver == "sqlite3" {
			t.Skip("the same file as with the other driver")
		}
		t.Run("purged, and Redis restored from an older copy: not applied again", func(t *testing.T) {
			h := newHorizon(t, d)
			h.enqueue("job")
			copied := h.save()
			h.work(byJob)
			h.want(10)
			h.purge()
			h.older(copied)
			h.work(byJob)
			h.want(10, "job")
		})
	})
	t.Run("purged, then a dead job is requeued: refused, and once where it is forced", func(t *testing.T) {
		t.Parallel()
		h := newHorizon(t, sqltest.SQLite(t))
		h.fails = true
		h.enqueue("job")
		h.work(byJob)
		h.fails = false
		h.purge()
		must(t, h.client.Queue("old").Requeue(t.Context(), "job"))
		h.work(byJob)
		h.want(0, "job")
		must(t, h.receipts.Force(t.Context(), "old", "job"))
		must(t, h.client.Queue("old").Requeue(t.Context(), "job"))
		h.work(byJob)
		h.want(10)
	})
	t.Run("purged, then an event is replayed under other job IDs: not applied again", func(t *testing.T) {
		t.Parallel()
		h := newHorizon(t, sqltest.SQLite(t))
		byEvent := func(job *waybill.Job[int]) receipt.Key { return receipt.For(job).Business("event-7") }
		h.enqueue("event-7/first")
		h.work(byEvent)
		h.enqueue("event-7/replay-1")
		h.work(byEvent)
		h.want(10)
		h.purge()
		h.enqueue("event-7/replay-2")
		h.work(byEvent)
		h.want(10, "event-7/replay-2")
	})
}
