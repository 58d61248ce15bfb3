package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// topicFixture is the topic "orders" whose clock the test moves. Its calls fail the test on any error.
type topicFixture struct {
	*store.Topic
	t      tester
	rdb    *redis.Client
	base   string // of the topic's keys
	now    int64
	names  []string         // of subscriptions
	claims map[string]int64 // number of the last claim of each
}

// tester is a test, or a run of a random one.
type tester interface {
	Helper()
	Context() context.Context
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// newTopic is a topic with subscriptions from the beginning on.
func newTopic(t testing.TB, subscriptions ...string) *topicFixture {
	t.Helper()
	rdb, prefix := redistest.Shared(t)
	return newTopicOn(t, rdb, prefix, false, subscriptions...)
}

func newTopicOn(t tester, rdb *redis.Client, prefix string, noHeaders bool, subscriptions ...string) *topicFixture {
	t.Helper()
	s, err := store.NewForTest(rdb, prefix, store.TestClock, noHeaders)
	if err != nil {
		t.Fatal(err)
	}
	topic, err := s.Topic("orders")
	if err != nil {
		t.Fatal(err)
	}
	f := &topicFixture{Topic: topic, t: t, rdb: rdb, base: prefix + ":{orders}:", now: epoch, claims: map[string]int64{}}
	f.names = subscriptions
	f.pass(0)
	for _, name := range subscriptions {
		f.is(store.SubCreated, f.subscribe(name, store.Beginning))
	}
	return f
}

func (f *topicFixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *topicFixture) is(want, got any) {
	f.t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		f.t.Errorf("(-want +got):\n%s", d)
	}
}

// pass moves the clock, of all queues of the topic.
func (f *topicFixture) pass(d time.Duration) {
	f.t.Helper()
	f.now += d.Milliseconds()
	f.must(f.rdb.Set(f.t.Context(), f.Tag()+"clock", f.now, 0).Err())
	for _, name := range f.names {
		f.must(f.rdb.Set(f.t.Context(), f.base+"sub:"+name+":clock", f.now, 0).Err())
	}
}

func (f *topicFixture) subscribe(name, place string) store.Subscribed {
	f.t.Helper()
	return f.stand(name, place, false).Word
}

func (f *topicFixture) stand(name, place string, attach bool) store.Standpoint {
	f.t.Helper()
	f.must(f.rdb.Set(f.t.Context(), f.base+"sub:"+name+":clock", f.now, 0).Err())
	how := store.Create
	if attach {
		how = store.Attach
	}
	at, err := f.Subscribe(f.t.Context(), name, place, how)
	f.must(err)
	return at
}

func (f *topicFixture) queue(name string) *store.Queue {
	f.t.Helper()
	q, err := f.Subscription(name)
	f.must(err)
	return q
}

// event is an event with a given ID, whose payload is the ID.
func event(id string) store.Add {
	return store.Add{ID: id, Job: record.Job{Kind: "orders", Payload: []byte(id), Named: true}}
}

// add publishes and gives the outcomes.
func (f *topicFixture) add(events ...store.Add) string {
	f.t.Helper()
	var words []string
	for _, e := range f.Enqueue(f.t.Context(), events, false) {
		f.must(e.Err)
		words = append(words, string(e.Outcome))
	}
	return strings.Join(words, " ")
}

// have publishes events, which must be new, in one call.
func (f *topicFixture) have(ids ...string) {
	f.t.Helper()
	var events []store.Add
	for _, id := range ids {
		events = append(events, event(id))
	}
	f.is(strings.TrimSuffix(strings.Repeat("accepted ", len(ids)), " "), f.add(events...))
}

// series publishes events prefix1 to prefixN.
func (f *topicFixture) series(prefix string, n int) {
	f.t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s%d", prefix, i+1)
	}
	f.have(ids...)
}

// claim is the next claim of the worker "Ann" of a subscription.
func (f *topicFixture) claim(name string, most int, kinds ...string) store.Claimed {
	f.t.Helper()
	f.claims[name]++
	return f.again(name, most, kinds...)
}

// again sends the last claim once more.
func (f *topicFixture) again(name string, most int, kinds ...string) store.Claimed {
	f.t.Helper()
	c := store.Claim{Worker: "Ann", Number: f.claims[name], Most: most, Lease: 30 * time.Second, Kinds: kinds}
	got, err := f.queue(name).Claim(f.t.Context(), c)
	f.must(err)
	return got
}

// take claims and gives the IDs.
func (f *topicFixture) take(name string, most int) string {
	f.t.Helper()
	return idsOf(f.claim(name, most).Jobs)
}

// work takes as much, and acknowledges it.
func (f *topicFixture) work(name string, most int) string {
	f.t.Helper()
	jobs := f.claim(name, most).Jobs
	f.end(name, store.Ack, jobs...)
	return idsOf(jobs)
}

func (f *topicFixture) end(name string, how store.End, jobs ...store.Delivery) {
	f.t.Helper()
	for _, d := range jobs {
		rec, err := record.Parse(d.Record)
		f.must(err)
		verdicts, err := f.queue(name).Settle(f.t.Context(), []store.Settlement{{Member: d.Member(), Keep: rec.Keep, End: how}})
		f.must(err)
		f.is([]store.Verdict{store.Done}, verdicts)
	}
}

func (f *topicFixture) look() store.TopicStats {
	f.t.Helper()
	s, err := f.Look(f.t.Context())
	f.must(err)
	return s
}

// sub tells how a subscription stands.
func (f *topicFixture) sub(name string) store.SubscriptionStats {
	f.t.Helper()
	for _, s := range f.look().Subscriptions {
		if s.Name == name {
			return s
		}
	}
	f.t.Fatalf("no subscription %s", name)
	return store.SubscriptionStats{}
}

// lost tells the events that a subscription lost: how many, and the last range.
func (f *topicFixture) lost(name string) string {
	f.t.Helper()
	s := f.sub(name)
	return fmt.Sprintf("%d, %d to %d", s.Lost, s.LostFrom, s.LostTo)
}

// do sends a command by hand.
func (f *topicFixture) do(args ...any) {
	f.t.Helper()
	f.must(f.rdb.Do(f.t.Context(), args...).Err())
}

func (f *topicFixture) stream() string { return f.base + "stream" }

// rings takes the token out of the bell of a subscription, and tells whether there was one.
func (f *topicFixture) rings(name string) bool {
	f.t.Helper()
	return f.rdb.Del(f.t.Context(), f.base+"sub:"+name+":bell").Val() == 1
}

// trim cuts what nobody wants.
func (f *topicFixture) trim() int64 {
	f.t.Helper()
	got, err := f.Trim(f.t.Context(), "")
	f.must(err)
	return got.Cut
}

// set changes one setting.
func (f *topicFixture) set(s store.TopicSettings) {
	f.t.Helper()
	f.must(f.Set(f.t.Context(), s))
}
