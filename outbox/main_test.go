package outbox_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// They wait, for idle timeouts and for relays, much more than they work.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	if err := mysql.SetLogger(&mysql.NopLogger{}); err != nil { // connections are lost on purpose
		panic(err)
	}
	redistest.Main(sqltest.Ending(m))
}

// stand is an outbox in a database of its own, and a Redis.
type stand struct {
	t   *testing.T
	d   *sqltest.Database
	db  *sql.DB
	box *outbox.Outbox
	rdb redis.UniversalClient
	c   *waybill.Client

	mu     sync.Mutex
	events []outbox.Event
}

func newStand(t *testing.T, d *sqltest.Database, o outbox.Options) *stand {
	t.Helper()
	rdb, prefix := redistest.Shared(t)
	return newStandOn(t, d, o, rdb, prefix)
}

func newStandOn(t *testing.T, d *sqltest.Database, o outbox.Options, rdb redis.UniversalClient, prefix string) *stand {
	t.Helper()
	s := &stand{t: t, d: d, db: d.Open(t), rdb: rdb}
	if o.Poll == 0 {
		o.Poll = 20 * time.Millisecond
	}
	if o.Read == 0 {
		o.Read = 10 * time.Millisecond
	}
	o.Observe = s.observe
	if _, err := outbox.Migrate(t.Context(), s.db, d.Dialect, o); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.box, err = outbox.New(s.db, d.Dialect, o); err != nil {
		t.Fatal(err)
	}
	if s.c, err = waybill.NewClient(rdb, waybill.ClientOptions{Prefix: prefix}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.c.Close() })
	return s
}

func (s *stand) observe(e outbox.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// told counts events of a type.
func (s *stand) told(t outbox.EventType) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Type == t {
			n++
		}
	}
	return n
}

// relay runs a relay until stop is called, or the test ends.
func (s *stand) relay() (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := s.box.Relay(ctx, s.c); err != nil {
			s.t.Errorf("relay: %v", err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		all.Wait()
	})
	s.t.Cleanup(stop)
	return stop
}

// in runs f in a transaction, and commits it where it gives nil.
func (s *stand) in(f func(tx *sql.Tx) error) error {
	s.t.Helper()
	tx, err := s.db.BeginTx(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

// enter enters jobs and commits.
func (s *stand) enter(r ...waybill.Request) {
	s.t.Helper()
	if err := s.in(func(tx *sql.Tx) error { return s.box.Enqueue(s.t.Context(), tx, r...) }); err != nil {
		s.t.Fatal(err)
	}
}

// request is a job of queue q.
func request(id string) waybill.Request {
	return waybill.Request{Queue: "q", Kind: "k", ID: id, Payload: []byte(id)}
}

func requests(n int) []waybill.Request {
	all := make([]waybill.Request, n)
	for i := range all {
		all[i] = request(fmt.Sprintf("job-%d", i))
	}
	return all
}

// until waits for something to become true.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("not within two minutes: %s", what)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(what)
		case <-time.After(25 * time.Millisecond):
		}
	}
}

// stats is how queue q stands in Redis.
func (s *stand) stats() waybill.QueueStats {
	s.t.Helper()
	st, err := s.c.Queue("q").Stats(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return st
}

// rows is how the rows of queue q stand.
func (s *stand) rows() outbox.QueueStats {
	s.t.Helper()
	st, err := s.box.Stats(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, q := range st.Queues {
		if q.Queue == "q" {
			return q
		}
	}
	return outbox.QueueStats{}
}

// work runs jobs of queue q until stop is called, or the test ends.
func (s *stand) work(h func(context.Context, *waybill.Attempt) error) (stop func()) {
	s.t.Helper()
	w, err := waybill.NewWorker(s.c, waybill.WorkerOptions{Queues: []waybill.QueueOptions{{Name: "q"}}})
	if err != nil {
		s.t.Fatal(err)
	}
	w.HandleFunc(waybill.AnyKind, waybill.KindOptions{MaxFailures: 1}, func(ctx context.Context, a *waybill.Attempt) ([]byte, error) {
		return nil, h(ctx, a)
	})
	ctx, cancel := context.WithCancel(s.t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := w.Run(ctx); err != nil {
			s.t.Errorf("worker: %v", err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		all.Wait()
	})
	s.t.Cleanup(stop)
	return stop
}
