package store_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/model"
)

// epoch is when the clock of tests begins, ms.
const epoch = 1_700_000_000_000

// command is one call, kept with all its arguments so that it can be sent again, at once or late.
type command struct {
	text    string
	changes bool // it is worth sending again
	adds    []store.Add
	send    func(*machine) (any, error)
	expect  func(*model.Queue) any // the answer that the model gives
}

// GoString is what rapid prints of a drawn command.
func (c command) GoString() string { return c.text }

// drawer draws a command that makes sense now; false: none does.
type drawer func(*rapid.T, *machine) (command, bool)

// variant is one server and one way to speak to it.
type variant struct {
	rdb       *redis.Client
	noHeaders bool
	realTime  bool              // the server's clock, short delays
	memory    bool              // memory is full from time to time
	lacks     map[string]string // what the server can't do, and why that is so
	prefixes  atomic.Int64
	tap       *tap
	seen      *coverage
}

// machine is one run of commands against a queue of its own and its model.
type machine struct {
	v    *variant
	t    *rapid.T
	ctx  context.Context
	s    *store.Store
	q    *store.Queue
	m    *model.Queue
	news *redis.PubSub
	full bool // of memory

	last    dump // after the step before
	walk    *walk
	step    int
	late    []command         // sent before
	numbers map[string]int64  // last claim of each worker
	keeps   map[string]string // of each lease member ever given
	settled map[string]bool   // attempts that were told that they ended
	members []string          // in order of delivery
	words   []store.Word      // that outboxes read
	ids     int               // generated so far
	top     int64             // the latest time so far
	ends    ends
}

// ends counts what the queue's counters do not tell apart.
type ends struct{ cancelled, forced int64 }

func (v *variant) machine(t *rapid.T) *machine {
	ctx := context.Background()
	clock := store.TestClock
	if v.realTime {
		clock = ""
	}
	s, err := store.NewForTest(v.rdb, fmt.Sprintf("c%d", v.prefixes.Add(1)), clock, v.noHeaders)
	if err != nil {
		t.Fatal(err)
	}
	q, err := s.Queue("mail")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{v: v, t: t, ctx: ctx, s: s, q: q, m: model.New(q.Name(), epoch)}
	m.numbers, m.keeps, m.settled = map[string]int64{}, map[string]string{}, map[string]bool{}
	m.m.Back = m.back
	m.m.Retired = func(worker string) bool { return m.last["claims"].Hash[worker] == "" }
	m.must(v.rdb.Set(ctx, q.Tag()+"clock", epoch, 0).Err())
	if v.lacks["news"] == "" {
		m.news = v.rdb.Subscribe(ctx, q.Tag()+"ended", q.Tag()+"control")
		for range 2 {
			_, err := m.news.Receive(ctx)
			m.must(err)
		}
	}
	t.Cleanup(m.close)
	return m
}

func (m *machine) close() {
	if m.full {
		m.setFull(false)
	}
	if m.news != nil {
		_ = m.news.Close()
	}
	keys, err := m.v.rdb.Keys(m.ctx, m.q.Tag()+"*").Result()
	if err == nil && len(keys) > 0 {
		_ = m.v.rdb.Unlink(m.ctx, keys...).Err()
	}
}

func (m *machine) must(err error) {
	if err != nil {
		m.t.Fatalf("conformance: %v", err)
	}
}

// do sends a command to both, compares the answers, and then all that stands in Redis.
func (m *machine) do(c command) {
	m.step++
	got, err := c.send(m)
	if err != nil {
		m.t.Logf("%d. %s", m.step, c.text)
		m.t.Fatalf("%s: %v", firstWord(c.text), err)
	}
	m.readClock()
	after, err := readDump(m.ctx, m.v.rdb, m.q)
	m.must(err)
	before := m.last
	m.last = after
	if m.walk != nil {
		m.walk.follow(after)
	}
	m.m.News, m.m.Control = nil, nil
	want := c.expect(m.m)
	m.t.Logf("%d. at %+d ms: %s: %s", m.step, m.m.Now-epoch, c.text, brief(got))
	m.same("answer", want, got)
	m.same("state", map[string]model.Value(m.m.Dump()), map[string]model.Value(after))
	m.compareNews()
	m.check(before, after)
	m.v.seen.note(firstWord(c.text), got)
	m.v.seen.state(after)
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}

// same fails where the model and Redis differ.
func (m *machine) same(what string, want, got any) {
	if reflect.DeepEqual(want, got) {
		return
	}
	if d := cmp.Diff(want, got, cmpopts.EquateErrors(), cmpopts.EquateEmpty()); d != "" {
		m.t.Logf("%s (-model +redis):\n%s", what, d)
		m.t.Fatalf("%s differs from the model's", what)
	}
}

// readClock gives the model the time that the scripts saw.
func (m *machine) readClock() {
	if m.v.realTime {
		m.m.Now = m.v.tap.now.Load()
	}
	m.top = max(m.top, m.m.Now)
}

// back tells the model when Redis lets a suspect come back, and checks the time.
func (m *machine) back(el string, least, most int64) int64 {
	at, ok := m.last["retry"].Scores[el]
	if !ok || at < least || at > most {
		m.t.Logf("suspect %s comes back at %d (%v): from %d to %d", el, at, ok, least, most)
		m.t.Fatalf("suspect comes back at a wrong time")
	}
	return at
}

// compareNews compares what was published: ends of jobs in one message, cancel requests in one each.
func (m *machine) compareNews() {
	if m.news == nil {
		return
	}
	var want, got []string
	want = append(want, m.m.Control...)
	if len(m.m.News) > 0 {
		want = append(want, strings.Join(m.m.News, "\n"))
	}
	m.must(m.news.Ping(m.ctx))
	for {
		msg, err := m.news.ReceiveTimeout(m.ctx, 10*time.Second)
		m.must(err)
		if x, ok := msg.(*redis.Message); ok {
			got = append(got, x.Payload)
		} else {
			break
		}
	}
	m.same("news", want, got)
}

// check looks for broken promises without asking the model.
func (m *machine) check(before, after dump) {
	if odd := after.checkStructure(); len(odd) > 0 {
		slices.Sort(odd)
		m.t.Fatalf("structure: %s", strings.Join(odd, "; "))
	}
	live, spilled := after.live()
	wasLive, wasSpilled := before.live()
	if capacity, err := strconv.Atoi(after["meta"].Hash["capacity"]); err == nil && live-spilled > max(capacity, wasLive-wasSpilled) {
		m.t.Fatalf("I8: %d live jobs, capacity %d", live-spilled, capacity)
	}
	s, err := m.q.Stats(m.ctx)
	m.must(err)
	m.readClock()
	m.same("stats", m.m.Stats(), s)
	if s.Accepted+s.Requeued != s.Completed+s.Died+s.Cancelled+s.Deleted+s.Live() || s.Live() != int64(live) {
		m.t.Fatalf("account: %+v", s)
	}
	if s.Deliveries != s.Completed+s.Failures+s.Snoozes+s.Released+s.Crashes+s.Active+m.ends.cancelled+m.ends.forced {
		m.t.Fatalf("I9: %+v, cancelled %d, forced %d", s, m.ends.cancelled, m.ends.forced)
	}
}

// audit must find nothing, so there is nothing to mend either: the next step compares all.
func (m *machine) audit() {
	found, err := m.q.Audit(m.step%2 == 0).Run(m.ctx)
	m.must(err)
	if len(found) > 0 {
		m.t.Fatalf("audit: %v", found)
	}
}

// delivered notes what a claim gave, and checks it against what stood in Redis before: I4, I10.
func (m *machine) delivered(c store.Claim, got store.Claimed) {
	m.numbers[c.Worker] = max(m.numbers[c.Worker], c.Number)
	for _, d := range got.Jobs {
		rec, err := record.Parse(d.Record)
		m.must(err)
		_, known := m.keeps[d.Member()]
		if known != got.Again {
			m.t.Fatalf("I4: token %s was given before: %v", d.Token, known)
		}
		if known {
			continue
		}
		m.keeps[d.Member()] = rec.Keep
		m.members = append(m.members, d.Member())
		now := max(m.top, got.Now.UnixMilli())
		for _, key := range []string{"due", "retry"} {
			if at, waits := m.last[key].Scores[d.Element]; waits && at > now {
				m.t.Fatalf("I10: %s delivered %d ms early", d.ID, at-now)
			}
		}
		if _, waits := m.last["overflow"].Scores[d.Element]; waits && rec.DueAt().UnixMilli() > now {
			m.t.Fatalf("I10: spilled %s delivered early", d.ID)
		}
	}
}

// settledBy notes which attempts were told that they ended their job: no other is ever told "already" (I4).
func (m *machine) settledBy(items []store.Settlement, verdicts []store.Verdict) {
	for i, v := range verdicts {
		token, el, _ := strings.Cut(items[i].Member, " ")
		attempt := token + " of " + el[16:]
		switch {
		case v == store.Done || v == store.CancelledNow:
			if m.settled[attempt] {
				m.t.Fatalf("I5: %s ends twice", attempt)
			}
			m.settled[attempt] = true
			if v == store.CancelledNow || items[i].End == store.Cancel {
				m.ends.cancelled++
			}
		case v == store.Already && !m.settled[attempt]:
			m.t.Fatalf("I4: %s is told that it ended the job before", attempt)
		}
	}
}

// setFull makes memory full or free.
func (m *machine) setFull(full bool) {
	limit := "0"
	if full {
		limit = "1"
	}
	m.must(m.v.rdb.ConfigSet(m.ctx, "maxmemory", limit).Err())
	m.full = full
}

// moveClock sets the clock of tests. That needs memory.
func (m *machine) moveClock(to int64) {
	if full := m.full; full {
		m.setFull(false)
		defer m.setFull(true)
	}
	m.m.Now = to
	m.must(m.v.rdb.Set(m.ctx, m.q.Tag()+"clock", to, 0).Err())
}

// refused is what enqueue answers while memory is full.
func refused(n int) []store.Enqueued {
	return slices.Repeat([]store.Enqueued{{Err: store.ErrUnavailable}}, n)
}

// brief says in few words what was answered.
func brief(answer any) string {
	switch a := answer.(type) {
	case []store.Enqueued:
		var words []string
		for _, e := range a {
			if e.Err != nil {
				words = append(words, "error")
				continue
			}
			words = append(words, string(e.Outcome))
		}
		return strings.Join(words, " ")
	case store.Claimed:
		return claimWords(a)
	case found:
		if errors.Is(a.err, store.ErrNotFound) {
			return "gone"
		}
		return string(a.info.State)
	case sent:
		return brief(a.Out)
	case []store.Entry:
		return fmt.Sprintf("%d entries", len(a))
	}
	return fmt.Sprint(answer)
}

func claimWords(a store.Claimed) string {
	var words []string
	for word, is := range map[string]bool{"late": a.Late, "again": a.Again, "paused": a.Paused} {
		if is {
			words = append(words, word)
		}
	}
	for _, d := range a.Jobs {
		words = append(words, d.ID+"="+d.Token)
	}
	return strings.Join(append(words, fmt.Sprintf("left %d", a.Left)), " ")
}

// tap sees the time that scripts answer.
type tap struct{ now atomic.Int64 }

func (*tap) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*tap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (p *tap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		reply, ok := cmd.(interface{ Slice() ([]any, error) })
		if err != nil || !ok || cmd.Name() != "evalsha" {
			return err
		}
		values, _ := reply.Slice()
		for _, v := range values[:min(2, len(values))] { // a claim's first value is a word
			if ms, ok := v.(int64); ok {
				p.now.Store(ms)
				break
			}
		}
		return nil
	}
}
