package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// fixture is a queue whose clock the test moves. Its calls fail the test on any error.
type fixture struct {
	*store.Queue
	store  *store.Store
	t      *testing.T
	rdb    *redis.Client
	now    int64
	number int64 // of the last claim of the worker "Ann"
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	rdb, prefix := redistest.Shared(t)
	return newFixtureOn(t, rdb, prefix)
}

func newFixtureOn(t *testing.T, rdb *redis.Client, prefix string) *fixture {
	t.Helper()
	s, err := store.NewForTest(rdb, prefix, store.TestClock, false)
	if err != nil {
		t.Fatal(err)
	}
	q, err := s.Queue("mail")
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{Queue: q, store: s, t: t, rdb: rdb, now: epoch}
	f.pass(0)
	return f
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// pass moves the clock.
func (f *fixture) pass(d time.Duration) {
	f.t.Helper()
	f.now += d.Milliseconds()
	f.must(f.rdb.Set(f.t.Context(), f.Tag()+"clock", f.now, 0).Err())
}

// plain is a job with a given ID.
func plain(id string) store.Add {
	return store.Add{ID: id, Job: record.Job{Kind: "k", Payload: []byte("p"), Named: true}}
}

// many are plain jobs with the IDs prefix0, prefix1, …
func many(prefix string, n int) []store.Add {
	adds := make([]store.Add, n)
	for i := range adds {
		adds[i] = plain(fmt.Sprintf("%s%d", prefix, i))
	}
	return adds
}

// add enqueues and gives the outcomes.
func (f *fixture) add(spill bool, adds ...store.Add) string {
	f.t.Helper()
	var words []string
	for _, e := range f.Enqueue(f.t.Context(), adds, spill) {
		f.must(e.Err)
		words = append(words, string(e.Outcome))
	}
	return strings.Join(words, " ")
}

// have enqueues plain jobs, which must be new.
func (f *fixture) have(ids ...string) {
	f.t.Helper()
	for _, id := range ids {
		f.is("accepted", f.add(false, plain(id)))
	}
}

// take claims as a worker that knows all kinds, under a lease of 30 s.
func (f *fixture) take(most int) []store.Delivery {
	f.t.Helper()
	f.number++
	return f.claim(store.Claim{Worker: "Ann", Number: f.number, Most: most, Lease: 30 * time.Second, Suspect: true}).Jobs
}

func (f *fixture) claim(c store.Claim) store.Claimed {
	f.t.Helper()
	got, err := f.Claim(f.t.Context(), c)
	f.must(err)
	return got
}

// takeOne claims one job, which must be this one.
func (f *fixture) takeOne(id string) store.Delivery {
	f.t.Helper()
	jobs := f.take(1)
	if len(jobs) != 1 || jobs[0].ID != id {
		f.t.Fatalf("claimed %v, want %s", idsOf(jobs), id)
	}
	return jobs[0]
}

func idsOf(jobs []store.Delivery) string {
	var ids []string
	for _, d := range jobs {
		ids = append(ids, d.ID)
	}
	return strings.Join(ids, " ")
}

// ending is the settlement of a delivery.
func (f *fixture) ending(d store.Delivery, end store.End) store.Settlement {
	f.t.Helper()
	rec, err := record.Parse(d.Record)
	f.must(err)
	return store.Settlement{Member: d.Member(), Keep: rec.Keep, End: end}
}

// end settles and gives the verdicts.
func (f *fixture) end(items ...store.Settlement) string {
	f.t.Helper()
	verdicts, err := f.Settle(f.t.Context(), items)
	f.must(err)
	return strings.Trim(fmt.Sprint(verdicts), "[]")
}

// settle settles one delivery.
func (f *fixture) settle(d store.Delivery, end store.End) string {
	f.t.Helper()
	return f.end(f.ending(d, end))
}

// changed joins the answers of an operator's verb.
func (f *fixture) changed(words []store.Change, err error) string {
	f.t.Helper()
	f.must(err)
	return strings.Trim(fmt.Sprint(words), "[]")
}

func (f *fixture) info(id string) store.Info {
	f.t.Helper()
	info, err := f.Get(f.t.Context(), id)
	f.must(err)
	return info
}

func (f *fixture) stats() store.Stats {
	f.t.Helper()
	s, err := f.Stats(f.t.Context())
	f.must(err)
	return s
}

func (f *fixture) dump() dump { return mustDump(f.t, f.rdb, f.Queue) }

// is compares.
func (f *fixture) is(want, got any) {
	f.t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		f.t.Errorf("(-want +got):\n%s", d)
	}
}

// sound fails where the audit or the structure show anything odd. Time passes, so that no record is
// too young for the audit.
func (f *fixture) sound() {
	f.t.Helper()
	f.pass(time.Millisecond)
	found, err := f.Audit(false).Run(f.t.Context())
	f.must(err)
	if odd := f.dump().checkStructure(); len(found) > 0 || len(odd) > 0 {
		f.t.Errorf("audit finds %v, the dump shows %v", found, odd)
	}
}

// same fails where anything in Redis changed but the fields of the stats that are named.
func (f *fixture) same(before dump, but ...string) {
	f.t.Helper()
	after := f.dump()
	for _, d := range []dump{before, after} {
		for _, field := range but {
			delete(d["stats"].Hash, field)
		}
		if len(d["stats"].Hash) == 0 {
			delete(d, "stats")
		}
	}
	if d := cmp.Diff(before, after); d != "" {
		f.t.Errorf("changed (-before +after):\n%s", d)
	}
}

// emptied works off, purges and checks that nothing is left but what may stay.
func (f *fixture) emptied() {
	f.t.Helper()
	for range 20 {
		f.pass(3 * time.Hour)
		for _, d := range f.take(1000) {
			f.settle(d, store.Ack)
		}
	}
	for _, state := range []store.State{store.DeadState, store.EndedState} {
		_, err := f.Purge(f.t.Context(), state, 500)
		f.must(err)
	}
	f.sound()
	for key := range f.dump() {
		if !slices.Contains(mayStay, key) && !strings.HasPrefix(key, "told:") {
			f.t.Errorf("%q is left", key)
		}
	}
}
