package linear_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// client is one that speaks to the server through a proxy of its own.
type client struct {
	t      *testing.T
	number int
	rnd    *rand.Rand // of the goroutine that uses the client
	proxy  *redistest.Proxy
	queue  *store.Queue
	tape   *tape
	line   *line
}

func newClient(t *testing.T, s *redistest.Server, number int, r *round) *client {
	c := &client{
		t: t, number: number, rnd: rand.New(rand.NewPCG(r.seed, uint64(number))),
		proxy: redistest.NewProxy(t, s), tape: r.tape, line: r.line,
	}
	c.proxy.Verbs(verbs)
	fates := rand.New(rand.NewPCG(r.seed, uint64(1000+number))) // of the proxy, which asks for one request at a time
	c.proxy.Decide(func(q redistest.Request) redistest.Fate {
		if !played[q.Verb] || fates.IntN(6) > 0 {
			return redistest.Pass
		}
		return fate[fates.IntN(len(fate))]
	})
	c.proxy.Delay(func(redistest.Request) time.Duration { return time.Duration(fates.IntN(3000)) * time.Microsecond })
	rdb := c.proxy.Client()
	rdb.AddHook(hook{c})
	st, err := store.New(rdb, store.Options{})
	must(t, err)
	t.Cleanup(st.Close)
	c.queue, err = st.Queue(r.queue)
	must(t, err)
	return c
}

// played are the verbs that are disturbed, and fate what becomes of them.
var (
	played = map[string]bool{
		"enqueue": true, "claim": true, "settle": true, "renew": true, "progress": true, "cancel": true, "delete": true,
		"requeue": true, "promote": true,
	}
	fate = []redistest.Fate{
		redistest.DropReply, redistest.DropReply, redistest.DropRequest, redistest.DropRequest, redistest.Late, redistest.Late,
		redistest.Again, redistest.Again, redistest.CutRequest, redistest.CutReply, redistest.Reset,
	}
)

// hook takes down each frame that the client sends.
type hook struct{ c *client }

func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		f, ok := readCall(texts(cmd.Args()))
		if !ok {
			return next(ctx, cmd)
		}
		f.client = h.c.number
		sent := h.c.tape.begin(f)
		err := next(ctx, cmd)
		var refused redis.Error
		var dial *net.OpError
		switch {
		case errors.As(err, &refused): // before anything ran
			if !redis.HasErrorPrefix(err, "NOSCRIPT") {
				h.c.t.Errorf("%s: %v", f.verb, err)
			}
			h.c.tape.strike(sent)
		case errors.As(err, &dial) && dial.Op == "dial":
			h.c.tape.strike(sent)
		case err == nil:
			values, _ := cmd.(interface{ Val() any }).Val().([]any)
			h.c.tape.answer(sent, texts(values))
		}
		return err
	}
}

// deliver sends what the proxy kept, and waits for all answers though the round be over: what was carried out must stand
// on the tape.
func (c *client) deliver(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	begun := c.tape.now()
	answered, err := c.proxy.Deliver(ctx)
	if err != nil {
		c.t.Errorf("deliver: %v", err)
	}
	for _, r := range answered {
		words := make([]string, len(r.Args))
		for i, w := range r.Args {
			words[i] = string(w)
		}
		f, ok := readCall(words)
		if !ok || bytes.HasPrefix(r.Reply, []byte("-NOSCRIPT")) {
			continue
		}
		f.client = late + c.number
		values, ok := readReply(r.Reply)
		if !ok {
			c.t.Errorf("%s, delivered, is answered %q", f.verb, r.Reply)
			continue
		}
		c.tape.told(f, begun, values)
	}
}

// late is added to the number of a client for what is delivered of it.
const late = 100

// line are the jobs that clients are busy with.
type line struct {
	mu   sync.Mutex
	tape *tape
	ids  []string
	made int
}

// most is how many operations a job may have.
const most = 200

// pick gives one of the jobs.
func (l *line) pick(rnd *rand.Rand) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := rnd.IntN(len(l.ids))
	return l.ids[i]
}

// over puts a new job into the place of one of which there's nothing more to see.
func (l *line) over(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.ids {
		if l.ids[i] == id {
			l.made++
			l.ids[i] = jobName(l.made)
		}
	}
}

// work claims and ends jobs until ctx ends.
func (c *client) work(ctx context.Context) {
	worker, old := record.NewWorkerID(), ""
	for n := int64(1); ctx.Err() == nil; {
		got, err := c.queue.Claim(ctx, store.Claim{Worker: worker, Number: n, Most: 1 + c.rnd.IntN(3), Lease: lease, Suspect: true})
		if err != nil {
			continue // the same once more
		}
		n++
		for _, d := range got.Jobs {
			c.attempt(ctx, d, old)
			if c.rnd.IntN(3) == 0 {
				old = d.Member()
			}
		}
		c.pause(ctx, 10*time.Millisecond)
	}
}

var ends = []store.End{
	store.Ack, store.Complete, store.Retry, store.Retry, store.Snooze, store.Snooze, store.Release, store.Release, store.Dead, store.Cancel,
}

// attempt plays an attempt: it renews, tells, may outlive its lease, and ends, or does not. old is what another held.
func (c *client) attempt(ctx context.Context, d store.Delivery, old string) {
	for range c.rnd.IntN(3) {
		if c.rnd.IntN(2) == 0 {
			_, _ = c.queue.Renew(ctx, lease, []string{d.Member()})
		} else {
			_, _ = c.queue.Progress(ctx, d.Member(), 50, "half")
		}
	}
	if c.rnd.IntN(8) == 0 {
		_, _ = c.queue.Cancel(ctx, "no", d.ID)
	}
	if c.rnd.IntN(4) == 0 {
		c.pause(ctx, 3*lease/2)
	}
	if c.rnd.IntN(8) == 0 {
		return
	}
	member := d.Member()
	for again := true; again && ctx.Err() == nil; again = c.rnd.IntN(4) == 0 {
		c.end(ctx, d, member)
	}
	if old != "" && c.rnd.IntN(2) == 0 {
		c.end(ctx, store.Delivery{Record: d.Record, ID: idOf(old)}, old)
	}
}

// end ends an attempt in some way.
func (c *client) end(ctx context.Context, d store.Delivery, member string) {
	rec, err := record.Parse(d.Record)
	if err != nil {
		c.t.Errorf("record of %s: %v", d.ID, err)
		return
	}
	s := store.Settlement{
		Member: member, Keep: rec.Keep, End: ends[c.rnd.IntN(len(ends))], Delay: time.Duration(c.rnd.IntN(60)) * time.Millisecond,
		Retention: time.Hour,
	}
	_, _ = c.queue.Settle(ctx, []store.Settlement{s})
	if (s.End == store.Ack || s.End == store.Complete || s.End == store.Cancel) && c.rnd.IntN(2) == 0 {
		c.line.over(d.ID)
	}
}

// operate enqueues and changes jobs until ctx ends.
func (c *client) operate(ctx context.Context) {
	for ctx.Err() == nil {
		id := c.line.pick(c.rnd)
		switch n := c.rnd.IntN(20); {
		case n < 8:
			c.queue.Enqueue(ctx, []store.Add{c.job(id)}, false)
		case n < 9:
			_, _ = c.queue.Cancel(ctx, "no", id)
		case n < 10:
			_, _ = c.queue.Delete(ctx, store.DeleteOptions{Force: c.rnd.IntN(2) == 0}, id)
		case n < 13:
			_, _ = c.queue.Requeue(ctx, id)
		case n < 16:
			_, _ = c.queue.Promote(ctx, id)
		default:
			_, _ = c.queue.Get(ctx, id)
		}
		if c.tape.count(id) > most*3/4 {
			c.line.over(id)
		}
		c.pause(ctx, 15*time.Millisecond)
	}
}

func (c *client) job(id string) store.Add {
	j := record.Job{Named: true, Kind: "k", Payload: []byte("a"), Delay: time.Duration(c.rnd.IntN(2)*c.rnd.IntN(40)) * time.Millisecond}
	if c.rnd.IntN(5) == 0 {
		j.Payload = []byte("b")
	}
	return store.Add{ID: id, Job: j}
}

// pause lets up to d pass.
func (c *client) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d/2 + time.Duration(c.rnd.Int64N(int64(d))))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
