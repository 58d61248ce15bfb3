package outboxtest_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/outbox"
	outboxtest "github.com/waybillhq/waybill/test/outbox"
)

const (
	queue = "mail"
	poll  = 10 * time.Millisecond
	read  = 20 * time.Millisecond
	// mostTime is how long something may take to come about. The machine may be busy.
	mostTime = 3 * time.Minute
	// look is how often it is looked for: what looks takes the time of what it waits for.
	look = 20 * time.Millisecond
)

// stand is an outbox in a database of its own, and a Redis.
type stand struct {
	*testing.T

	d      *sqltest.Database
	db     *sql.DB
	server *redistest.Server
	client *waybill.Client
	box    *outbox.Outbox
	sender *outbox.Outbox // the same, whose relays do not read words
	queue  *waybill.Queue
}

func newStand(t *testing.T, d *sqltest.Database) *stand {
	t.Helper()
	s := &stand{T: t, d: d, db: d.Open(t), server: redistest.Start(t)}
	s.db.SetMaxIdleConns(16) // else they come and go, each with a process of PostgreSQL
	_, err := outbox.Migrate(t.Context(), s.db, d.Dialect, outbox.Options{})
	must(t, err)
	s.box, err = outbox.New(s.db, d.Dialect, outbox.Options{Poll: poll, Read: read, Observe: s.observe})
	must(t, err)
	s.sender, err = outbox.New(s.db, d.Dialect, outbox.Options{Poll: poll, Read: time.Minute, Observe: s.observe})
	must(t, err)
	s.client, err = waybill.NewClient(s.server.Client(), waybill.ClientOptions{})
	must(t, err)
	t.Cleanup(func() { _ = s.client.Close() })
	s.queue = s.client.Queue(queue)
	// What the application writes beside its jobs: the name of a transaction, and how many jobs it entered.
	s.exec("CREATE TABLE app (tx VARCHAR(64) NOT NULL, jobs INTEGER NOT NULL)")
	return s
}

func (s *stand) observe(e outbox.Event) {
	if e.Type == outbox.EventLost {
		s.Errorf("a relay was told that Redis lost data: %v", e.Err)
	}
}

func (s *stand) exec(text string) {
	s.Helper()
	_, err := s.db.ExecContext(s.Context(), text)
	must(s.T, err)
}

// count is the one number that a query gives.
func (s *stand) count(query string) (n int) {
	s.Helper()
	must(s.T, s.db.QueryRowContext(s.Context(), query).Scan(&n))
	return n
}

// strings are the texts that a query gives.
func (s *stand) strings(query string) []string {
	s.Helper()
	rows, err := s.db.QueryContext(s.Context(), query)
	must(s.T, err)
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text string
		must(s.T, rows.Scan(&text))
		all = append(all, text)
	}
	must(s.T, rows.Err())
	return all
}

// until waits for something to become true.
func (s *stand) until(what string, ok func() bool) {
	s.Helper()
	ctx, stop := context.WithTimeout(s.Context(), mostTime)
	defer stop()
	for !ok() {
		if pause(ctx, look); ctx.Err() != nil {
			s.Fatalf("not within %s: %s", mostTime, what)
		}
	}
}

// pause lets time pass.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// below is a random time.
func below(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }

func (s *stand) stats() waybill.QueueStats {
	s.Helper()
	st, err := s.queue.Stats(s.Context())
	must(s.T, err)
	return st
}

// words gives the jobs of which the queue has word for the outbox that is not taken away.
func (s *stand) words() map[string]bool {
	s.Helper()
	name, err := s.box.Name(s.Context())
	must(s.T, err)
	box, err := s.client.Outbox(queue, name)
	must(s.T, err)
	standing, err := box.Look(s.Context())
	must(s.T, err)
	all := map[string]bool{}
	for cursor := "0"; standing.Number != 0; {
		var words []store.Word
		words, cursor, _, err = box.Read(s.Context(), standing.Number, cursor, nil)
		must(s.T, err)
		for _, w := range words {
			all[w.ID] = true
		}
		if cursor == "0" {
			break
		}
	}
	return all
}

// settled says whether each row knows its job's end, and no word of one is left.
func (s *stand) settled() bool {
	s.Helper()
	return s.count("SELECT count(*) FROM waybill_outbox WHERE state NOT IN (2, 4)") == 0 && len(s.words()) == 0
}

// enter commits rows by their IDs, in one transaction.
func (s *stand) enter(ids ...string) {
	s.Helper()
	tx, err := s.db.BeginTx(s.Context(), nil)
	must(s.T, err)
	must(s.T, s.box.Enqueue(s.Context(), tx, requests(ids)...))
	must(s.T, tx.Commit())
}

func requests(ids []string) []waybill.Request {
	all := make([]waybill.Request, len(ids))
	for i, id := range ids {
		all[i] = waybill.Request{Queue: queue, Kind: "mail.send", ID: id, Payload: []byte(id)}
	}
	return all
}

// names are n IDs with a name before.
func names(before string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s.%d", before, i)
	}
	return ids
}

// txOf is what names put before.
func txOf(id string) string { return id[:strings.LastIndexByte(id, '.')] }

func (s *stand) orders(r outboxtest.Role) outboxtest.Orders {
	return outboxtest.Orders{
		Role: r, Redis: s.server.URL(), Queue: queue, Driver: s.d.Driver, DSN: s.d.DSN, Dialect: string(s.d.Dialect),
		PollMS: poll.Milliseconds(), ReadMS: read.Milliseconds(), LeaseMS: 2000,
	}
}

// start starts a process.
func (s *stand) start(o outboxtest.Orders) *process {
	s.Helper()
	p, err := start(s.T, o)
	must(s.T, err)
	return p
}

// delivered counts by ID the jobs that workers were given.
func delivered(workers ...*process) map[string]int {
	all := map[string]int{}
	for _, w := range workers {
		for _, said := range w.Said() {
			if said.Job != "" {
				all[said.Job]++
			}
		}
	}
	return all
}

// complaints are what is wrong; none = all is as it must be.
type complaints []string

func (c *complaints) add(format string, args ...any) { *c = append(*c, fmt.Sprintf(format, args...)) }

// with are those that begin with a word.
func (c complaints) with(word string) int {
	n := 0
	for _, text := range c {
		if strings.HasPrefix(text, word+":") {
			n++
		}
	}
	return n
}

// tell makes errors of them, of many alike only some.
func (c complaints) tell(t *testing.T) {
	t.Helper()
	for _, text := range c[:min(len(c), 20)] {
		t.Error(text)
	}
	if len(c) > 20 {
		t.Errorf("and %d more", len(c)-20)
	}
}
