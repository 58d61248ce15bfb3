package topictest_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
	"github.com/waybillhq/waybill/test/internal/program"
	topictest "github.com/waybillhq/waybill/test/topics"
	"github.com/waybillhq/waybill/topic"
)

// streamKey is the stream of the topic.
const streamKey = "wb:{orders}:stream"

// mostTime is how long something may take to come about. The machine may be busy.
const mostTime = 2 * time.Minute

type process = program.Process[topictest.Said]

// stand is a topic on a Redis of its own, and where effects are wanted a database.
type stand struct {
	*testing.T

	server *redistest.Server
	rdb    *redis.Client
	client *waybill.Client
	stream *topic.Stream
	db     *sql.DB
	url    string // of the database; "" = there is none

	patience time.Duration // mostTime, unless there is more to do
}

// newStand makes subscriptions on a Redis.
func newStand(t *testing.T, server *redistest.Server, subscriptions ...string) *stand {
	t.Helper()
	s := &stand{T: t, server: server, rdb: server.Client(), patience: mostTime}
	var err error
	s.client, err = waybill.NewClient(s.rdb, waybill.ClientOptions{})
	must(t, err)
	t.Cleanup(func() { _ = s.client.Close() })
	s.stream = topictest.Topic.Stream(s.client)
	for _, name := range subscriptions {
		_, err := s.stream.Create(t.Context(), name, topic.Beginning)
		must(t, err)
	}
	return s
}

// withEffects gives the stand a database with receipts and a table effect.
func (s *stand) withEffects(d *sqltest.Database) *stand {
	s.Helper()
	s.db, s.url = d.Open(s.T), d.URL
	_, err := receipt.Migrate(s.Context(), s.db, d.Dialect, receipt.Options{})
	must(s.T, err)
	_, err = s.db.ExecContext(s.Context(), // no unique key: what is done twice is there twice
		"CREATE TABLE effect (queue VARCHAR(64) NOT NULL, event VARCHAR(64) NOT NULL)")
	must(s.T, err)
	return s
}

func (s *stand) start(o topictest.Orders) *process {
	s.Helper()
	if o.Redis == "" {
		o.Redis = s.server.URL()
	}
	p, err := program.Start[topictest.Said](s.T, binary, o)
	must(s.T, err)
	return p
}

// publisher starts a process that publishes events from one to another in a hundred batches, or one by one.
func (s *stand) publisher(from, to int, every time.Duration) *process {
	s.Helper()
	return s.start(topictest.Orders{Role: topictest.Publish, From: from, To: to, Batch: max(1, (to-from)/100), Every: every})
}

// subscriber starts a process that works a subscription off, with effects where there is a database.
func (s *stand) subscriber(name string, change ...func(*topictest.Orders)) *process {
	s.Helper()
	return s.start(s.orders(name, change...))
}

func (s *stand) orders(name string, change ...func(*topictest.Orders)) topictest.Orders {
	o := topictest.Orders{Role: topictest.Subscribe, Subscription: name, Concurrency: 4, Lease: lease, Database: s.url}
	for _, f := range change {
		f(&o)
	}
	return o
}

// lease is long beside the stalls of a busy machine.
const lease = 3 * time.Second

// ended waits for the end of publishers, and sums up what they were told.
func (s *stand) ended(publishers ...*process) (sum topictest.Told) {
	s.Helper()
	for _, p := range publishers {
		must(s.T, p.Wait())
		sum.Accepted += told(p).Accepted
		sum.Duplicates += told(p).Duplicates
	}
	return sum
}

// told sums up what a publisher was told until now.
func told(p *process) (sum topictest.Told) {
	for _, said := range p.Said() {
		if said.Told != nil {
			sum.Accepted += said.Told.Accepted
			sum.Duplicates += said.Told.Duplicates
			sum.To = said.Told.To
		}
	}
	return sum
}

// until waits for something to become true.
func (s *stand) until(what string, ok func() bool) {
	s.Helper()
	ctx, stop := context.WithTimeout(s.Context(), s.patience)
	defer stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			s.Fatalf("not within %s: %s; %s", s.patience, what, s.standing())
		case <-tick.C:
		}
	}
}

// standing says how the topic stands, for people.
func (s *stand) standing() string {
	ctx, stop := context.WithTimeout(context.WithoutCancel(s.Context()), time.Second)
	defer stop()
	st, err := s.stream.Stats(ctx)
	return fmt.Sprintf("%+v, %v", st, err)
}

func (s *stand) stats() topic.Stats {
	s.Helper()
	st, err := s.stream.Stats(s.Context())
	must(s.T, err)
	return st
}

// of is how a subscription stands.
func of(st topic.Stats, name string) topic.SubscriptionStats {
	i := slices.IndexFunc(st.Subscriptions, func(x topic.SubscriptionStats) bool { return x.Name == name })
	if i < 0 {
		return topic.SubscriptionStats{Lag: -1}
	}
	return st.Subscriptions[i]
}

// idle says that a subscription has taken all events, and no job of any has still to end.
func idle(st topic.Stats, name string) bool {
	x := of(st, name)
	return x.Lag+x.Gone+x.Ready+x.Active+x.Retry+x.Scheduled+x.Parked+x.Spilled == 0 && x.Taken == st.Published
}

// drained waits until subscriptions are idle.
func (s *stand) drained(names ...string) {
	s.Helper()
	for _, name := range names {
		s.until(name+" has taken and ended all events", func() bool { return idle(s.stats(), name) })
	}
}

func (s *stand) queue(name string) waybill.QueueStats {
	s.Helper()
	st, err := s.client.Queue("orders/" + name).Stats(s.Context())
	must(s.T, err)
	return st
}

// count is the one number that a query gives.
func (s *stand) count(query string) (n int) {
	s.Helper()
	must(s.T, s.db.QueryRowContext(s.Context(), query).Scan(&n))
	return n
}

// effects are how many effects a subscription has.
func (s *stand) effects(name string) int {
	s.Helper()
	return s.count("SELECT count(*) FROM effect WHERE queue = 'orders/" + name + "'")
}
