package nemesis_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/test/fault/stage"
	"github.com/waybillhq/waybill/topic"
)

// Queues and subscriptions of a run.
const (
	work   = "work"   // of producers
	bulk   = "bulk"   // of producers: many jobs without effects
	asked  = "asked"  // of waiters
	posted = "posted" // of the outbox
	events = "events" // the topic
	full   = "full"   // nobody's: it has room for one job
)

var subscriptions = []string{events + "/billing", events + "/mail"}

// many is more than any run sends.
const many = 1 << 30

const lease = time.Second

// capacity is of the queue of producers: they are refused where workers are away for long.
const capacity = 3000

// member is a process that is replaced where it dies, by one with the same orders.
type member struct {
	*stage.Process

	orders stage.Orders
	told   map[redistest.Fate]int // faults of its proxy that are in the history
}

// nemesis is a run and what disturbs it.
type nemesis struct {
	*stage.Stage

	rnd     *rand.Rand
	grade   string
	crew    []*member
	sent    int
	refused int            // jobs that were sent to be refused
	shift   time.Duration  // of the server's clock
	box     *outbox.Outbox // nil = none
	over    chan struct{}
	all     sync.WaitGroup
}

func newNemesis(s *stage.Stage, rnd *rand.Rand, grade string) *nemesis {
	s.Helper()
	n := &nemesis{Stage: s, rnd: rnd, grade: grade, over: make(chan struct{})}
	unlimited := int64(waybill.Unlimited)
	for _, q := range append([]string{work, bulk, asked, posted}, subscriptions...) { // else what is often killed becomes dead
		s.Must(s.Client.Queue(q).Set(s.Context(), waybill.QueueSettings{CrashAllowance: &unlimited}))
	}
	one := int64(1)
	s.Must(s.Client.Queue(full).Set(s.Context(), waybill.QueueSettings{Capacity: &one}))
	room := int64(capacity)
	s.Must(s.Client.Queue(work).Set(s.Context(), waybill.QueueSettings{Capacity: &room}))
	for _, sub := range []string{"billing", "mail"} {
		_, err := topic.Define[int](events).Create(s.Context(), s.Client, sub, topic.Beginning)
		s.Must(err)
		s.History.Write(history.Event{Op: history.OpSubscription, Queue: events + "/" + sub})
	}
	for range 2 {
		n.join(stage.Orders{Role: stage.Produce, Queue: work, Jobs: many, Batch: 25, Every: 20 * time.Millisecond, Delay: 300 * time.Millisecond})
	}
	n.join(stage.Orders{Role: stage.Produce, Queue: work, Jobs: many, Every: 5 * time.Millisecond})
	n.join(stage.Orders{Role: stage.Publish, Queue: events, Jobs: many, Batch: 5, Every: 25 * time.Millisecond})
	n.join(stage.Orders{Role: stage.Await, Queue: asked, Jobs: many})
	for range 3 {
		n.join(stage.Orders{Role: stage.Work, Queue: work, Jobs: 20, Mixed: true, Progress: true, Takes: time.Millisecond, Lease: lease})
	}
	n.join(stage.Orders{Role: stage.Produce, Queue: bulk, Jobs: many, Batch: 100, Every: 25 * time.Millisecond})
	n.join(stage.Orders{Role: stage.Work, Queue: bulk, Jobs: 100, Lease: lease, Bare: true})
	n.join(stage.Orders{Role: stage.Work, Queue: asked, Jobs: 2, Lease: lease})
	for _, sub := range subscriptions {
		n.join(stage.Orders{Role: stage.Subscribe, Queue: sub, Jobs: 5, Lease: lease})
	}
	if grade == "always" { // else its relay stops where Redis lost data, as it should, and waits for somebody to replay
		n.outbox()
	}
	return n
}

// join starts a member. Producers get numbers of their own.
func (n *nemesis) join(o stage.Orders) {
	n.Helper()
	m := &member{orders: o}
	n.crew = append(n.crew, m)
	n.start(m)
}

// numbers are as many as a process may send before the next one's begin.
const numbers = 1_000_000

func (n *nemesis) start(m *member) {
	n.Helper()
	m.told = nil
	o := m.orders
	if o.Jobs == many {
		o.From, o.Jobs = n.sent, numbers
		n.sent += numbers
	}
	m.Process = n.Spawn(o)
}

// outbox adds rows that two relays carry.
func (n *nemesis) outbox() {
	n.Helper()
	var err error
	n.box, err = outbox.New(n.DB, n.Database.Dialect, outbox.Options{})
	n.Must(err)
	for range 2 {
		n.join(stage.Orders{Role: stage.Relay})
	}
	n.join(stage.Orders{Role: stage.Work, Queue: posted, Jobs: 5, Lease: lease})
	n.all.Go(n.enter)
}

// refuse enqueues where there is no room: what is refused must never be there. Where Redis is away, or forgot, it need not be.
func (n *nemesis) refuse() {
	n.refused++
	kind := waybill.Define[int](stage.Kind, waybill.KindOptions{Queue: full})
	_, _ = kind.Enqueue(n.Context(), n.Client, n.refused, waybill.ID(fmt.Sprint("refused-", n.refused)))
}

// working tells whether jobs are waiting or running; it is asked while Redis answers.
func (n *nemesis) working() bool {
	st, err := n.Client.Queue(work).Stats(n.Context())
	if err == nil {
		n.History.Write(history.Event{Op: history.OpSample, Queue: work, Live: st.Live(), Capacity: capacity})
	}
	return err != nil || st.Live()+n.Live(asked) != 0
}

// proxy is that of a random member.
func (n *nemesis) proxy() *redistest.Proxy { return n.crew[n.rnd.IntN(len(n.crew))].Proxy }
