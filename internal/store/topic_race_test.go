package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// topicRace is a topic that many connections publish to, take from and rearrange at once.
type topicRace struct {
	*store.Topic
	t     *testing.T
	srv   *redistest.Server
	rdb   *redis.Client
	mu    sync.Mutex
	given map[string]map[string]int // by subscription: deliveries of each event
	n     map[string]int            // number of each event: its place among the jobs of "steady"
	first map[int]bool              // numbers at which a life of "moody" began
	late  int64                     // number of the event before the first that "late" is to have
}

// TestTopicRace lets subscriptions come, go, be detached and attached while others publish, claim and trim. Each event a
// subscription is to have must be delivered once, or be counted as lost.
func TestTopicRace(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	r := &topicRace{t: t, srv: srv, rdb: srv.Client(), given: map[string]map[string]int{}, n: map[string]int{}, first: map[int]bool{}}
	r.Topic = r.topic()
	for _, name := range []string{"steady", "slow", "loses"} {
		r.subscribe(name, store.Beginning, false)
	}
	publishing, done := context.WithCancel(t.Context())
	var publishers, others sync.WaitGroup
	for p := range 3 {
		publishers.Go(func() { r.publish(p) })
	}
	for _, name := range []string{"steady", "steady", "slow", "loses", "loses", "moody", "moody", "late"} {
		others.Go(func() { r.work(publishing, name) })
	}
	for _, rearrange := range []func(*topicRace, *store.Topic, int){(*topicRace).trims, (*topicRace).detaches, (*topicRace).comesAndGoes} {
		others.Go(func() {
			topic := r.topic()
			for i := 0; publishing.Err() == nil; i++ {
				rearrange(r, topic, i)
			}
		})
	}
	publishers.Wait()
	done()
	others.Wait()
	r.drain()
	r.check()
}

const raceEvents = 3 * 300 * 4

// topic is the topic over a connection of its own.
func (r *topicRace) topic() *store.Topic {
	s, err := store.New(r.srv.Client(), store.Options{})
	if err != nil {
		r.t.Error(err)
	}
	topic, _ := s.Topic("orders")
	return topic
}

func (r *topicRace) subscribe(name, place string, attach bool) store.Standpoint {
	how := store.Create
	if attach {
		how = store.Attach
	}
	at, err := r.Subscribe(context.WithoutCancel(r.t.Context()), name, place, how)
	if err != nil {
		r.t.Error(err)
	}
	return at
}

func (r *topicRace) publish(p int) {
	topic := r.topic()
	for i := range 300 {
		var events []store.Add
		for k := range 4 {
			id := fmt.Sprintf("p%d-%d-%d", p, i, k)
			events = append(events, store.Add{ID: id, Job: record.Job{Kind: "orders", Payload: []byte(id), Named: true}})
		}
		for _, e := range topic.Enqueue(context.WithoutCancel(r.t.Context()), events, false) {
			if e.Err != nil || e.Outcome != store.Accepted {
				r.t.Errorf("%s: %v", e.Outcome, e.Err)
			}
		}
	}
}

// work claims and acknowledges until the context ends.
func (r *topicRace) work(ctx context.Context, name string) {
	q, _ := r.topic().Subscription(name)
	worker := record.NewWorkerID()
	for number := int64(1); ctx.Err() == nil; number++ {
		r.take(q, name, worker, number)
	}
}

func (r *topicRace) take(q *store.Queue, name, worker string, number int64) int {
	ctx := context.WithoutCancel(r.t.Context())
	got, err := q.Claim(ctx, store.Claim{Worker: worker, Number: number, Most: 1 + rand.IntN(40), Lease: time.Minute})
	if err != nil {
		r.t.Error(err)
	}
	if ends := r.note(name, got.Jobs); len(ends) > 0 {
		if _, err := q.Settle(ctx, ends); err != nil {
			r.t.Error(err)
		}
	}
	return len(got.Jobs)
}

// note writes down what a subscription was given, and gives its acknowledgements.
func (r *topicRace) note(name string, jobs []store.Delivery) (ends []store.Settlement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range jobs {
		rec, _ := record.Parse(d.Record)
		ends = append(ends, store.Settlement{Member: d.Member(), Keep: rec.Keep, End: store.Ack})
		if r.given[name] == nil {
			r.given[name] = map[string]int{}
		}
		r.given[name][d.ID]++
		if name == "steady" {
			n, _ := strconv.ParseInt(d.Element[4:15], 16, 64)
			r.n[d.ID] = int(n)
		}
	}
	return ends
}

func (r *topicRace) trims(topic *store.Topic, _ int) {
	if _, err := topic.Trim(context.WithoutCancel(r.t.Context()), ""); err != nil {
		r.t.Error(err)
	}
}

// detaches lets "loses" go, as a full stream does, and takes it back.
func (r *topicRace) detaches(topic *store.Topic, i int) {
	key := topic.Tag()[:len(topic.Tag())-len("topic:")] + "sub:loses:meta"
	if i%20 == 0 {
		r.rdb.HSet(context.WithoutCancel(r.t.Context()), key, "detached", 1)
	} else if i%20 == 10 {
		r.subscribe("loses", store.Beginning, true)
	}
	r.trims(topic, i)
}

// comesAndGoes ends "moody" and makes it again; once it makes "late".
func (r *topicRace) comesAndGoes(topic *store.Topic, i int) {
	if i == 5 {
		if at := r.subscribe("late", store.Beginning, false); at.Word == store.SubCreated {
			r.mu.Lock()
			r.late = at.Taken
			r.mu.Unlock()
		}
	}
	if i%30 == 15 {
		if _, err := topic.Unsubscribe(context.WithoutCancel(r.t.Context()), "moody"); err != nil {
			r.t.Error(err)
		}
	} else if i%30 == 0 {
		r.begin("moody")
	}
	r.trims(topic, i)
}

func (r *topicRace) begin(name string) {
	at := r.subscribe(name, store.FromNow, false)
	if at.Word != store.SubCreated {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first[int(at.Taken)+1] = true
}

// drain lets all take what is left.
func (r *topicRace) drain() {
	r.begin("moody")
	r.subscribe("loses", store.Beginning, true)
	for _, name := range []string{"steady", "slow", "loses", "moody", "late"} {
		q, _ := r.Subscription(name)
		worker := record.NewWorkerID()
		for number := int64(1); r.take(q, name, worker, number) > 0; number++ { //nolint:revive // the claim is the work
		}
	}
}

func (r *topicRace) check() {
	look, err := r.Look(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for name, given := range r.given {
		for id, times := range given {
			if times != 1 {
				r.t.Errorf("%s had %s %d times", name, id, times)
			}
		}
	}
	for _, s := range look.Subscriptions {
		want := map[string]int64{"steady": raceEvents, "slow": raceEvents, "loses": raceEvents, "late": raceEvents - r.late}[s.Name]
		if s.Name != "moody" && int64(len(r.given[s.Name]))+s.Lost != want {
			r.t.Errorf("%s had %d events and lost %d of %d", s.Name, len(r.given[s.Name]), s.Lost, want)
		}
		if s.Name != "loses" && s.Lost != 0 || s.Lag != 0 || s.Gone != 0 {
			r.t.Errorf("%s: lost %d, %d to %d; lag %d, gone %d", s.Name, s.Lost, s.LostFrom, s.LostTo, s.Lag, s.Gone)
		}
		r.t.Logf("%s: %d events, lost %d", s.Name, len(r.given[s.Name]), s.Lost)
	}
	r.checkLives()
}

// checkLives looks for gaps in what "moody" had: before each event stands another, or the beginning of a life.
func (r *topicRace) checkLives() {
	had := map[int]bool{}
	for id := range r.given["moody"] {
		had[r.n[id]] = true
	}
	for n := range had {
		if !had[n-1] && !r.first[n] {
			r.t.Errorf("moody had event %d and not the one before", n)
		}
	}
	r.t.Logf("moody lived %d times", len(r.first))
}
