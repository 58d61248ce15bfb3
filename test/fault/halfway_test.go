package fault_test

import (
	"context"
	"errors"
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

const (
	bulkJobs    = 1000
	bulkParts   = 4 // calls that a bulk of this size goes in
	bulkInvalid = 10
	bulkJobsOf  = 900 // distinct IDs
)

// TestG25_bulkBrokenHalfWay: a bulk of 1,000 jobs, of which 100 repeat an ID and ten are invalid, breaks off at each of its
// calls, and half way in each manner in which a connection can break. Each job has its answer, which is true; the same bulk
// sent again adds what is wanting and nothing twice, also where a call of the first one arrives after that.
func TestG25_bulkBrokenHalfWay(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	_, err := work.Enqueue(t.Context(), newClient(t, server.Client()), 0) // from now on the server has the script
	must(t, err)
	for _, fate := range []redistest.Fate{
		redistest.DropRequest, redistest.DropReply, redistest.CutRequest, redistest.CutReply,
		redistest.HalfOpen, redistest.Reset, redistest.Late,
	} {
		t.Run(fate.String()+": every answer is true, and the bulk sent again adds nothing twice", func(t *testing.T) {
			t.Parallel()
			parts := []int{bulkParts / 2}
			if fate == redistest.DropReply {
				parts = []int{0, 1, 2, 3}
			}
			for _, part := range parts {
				halfway(t, server, fate, part)
			}
		})
	}
}

// halfway breaks a bulk off at one of its calls.
func halfway(t *testing.T, server *redistest.Server, fate redistest.Fate, part int) {
	t.Helper()
	at := name(fate.String()+", part ", part)
	proxy := redistest.NewProxy(t, server)
	proxy.Verbs(store.Digests())
	c, beside := newClient(t, proxy.Client()), newClient(t, server.Client())
	q := name("q-"+name("", int(fate))+"-", part)
	requests := halfwayBulk(q)
	ctx, stop := context.WithTimeout(t.Context(), latest)
	defer stop()
	proxy.Decide(func(r redistest.Request) redistest.Fate {
		if r.Verb != "enqueue" || r.N <= part {
			return redistest.Pass
		}
		if fate == redistest.HalfOpen {
			stop() // nobody else would end the wait
		}
		return fate
	})
	first, err := c.EnqueueMany(ctx, requests)
	var some *waybill.BulkError
	if !errors.As(err, &some) || len(first) != bulkJobs || some.Total != bulkJobs || some.Failed <= bulkInvalid {
		t.Errorf("%s: %d answers, %v", at, len(first), err)
	}
	proxy.Decide(nil)
	truthful(t, beside, first, at)
	if fired := proxy.Faults()[fate]; fired == 0 {
		t.Errorf("%s: it did not break", at)
	}

	again, err := c.EnqueueMany(t.Context(), requests)
	if !errors.As(err, &some) || some.Failed != bulkInvalid {
		t.Errorf("%s: again: %v", at, err)
	}
	if _, err := proxy.Deliver(t.Context()); err != nil {
		t.Errorf("%s: %v", at, err)
	}
	for i, e := range again {
		if invalid := i%100 == 7; invalid != (e.Outcome == waybill.OutcomeInvalid) || !invalid && !e.Outcome.Taken() {
			t.Errorf("%s: again, job %d is told %s, %v", at, i, e.Outcome, e.Err)
		}
	}
	s, err := beside.Queue(q).Stats(t.Context())
	must(t, err)
	if s.Accepted != bulkJobsOf-bulkInvalid || s.Ready != s.Accepted {
		t.Errorf("%s: %d accepted, %d ready", at, s.Accepted, s.Ready)
	}
}

// truthful checks the answers to a bulk that broke off: what was taken is there, what was refused is not.
func truthful(t *testing.T, beside *waybill.Client, said []waybill.Enqueued, at string) {
	t.Helper()
	count := map[waybill.Outcome]int{}
	for i, e := range said {
		count[e.Outcome]++
		if e.Outcome == waybill.OutcomeUnknown {
			continue
		}
		_, err := beside.Queue(e.Queue).Get(t.Context(), e.ID)
		switch {
		case e.Outcome.Taken() && err == nil && e.Err == nil:
		case !e.Outcome.Taken() && errors.Is(err, waybill.ErrNotFound) && e.Err != nil:
		default:
			t.Errorf("%s: job %d is told %s, %v; it is there: %v", at, i, e.Outcome, e.Err, err)
		}
	}
	t.Logf("%s: told %v", at, count)
	if count[waybill.OutcomeInvalid] != bulkInvalid {
		t.Errorf("%s: told %v", at, count)
	}
}

// halfwayBulk makes the jobs: every tenth repeats the ID of the one before, and ten others have a priority over the limit.
func halfwayBulk(q string) []waybill.Request {
	out := make([]waybill.Request, bulkJobs)
	for i := range out {
		n := i
		if i%10 == 3 {
			n = i - 1
		}
		out[i] = waybill.Request{Queue: q, Kind: "k", ID: name("job-", n), Payload: make([]byte, 4000)}
		if i%100 == 7 {
			out[i].Priority = 5000
		}
	}
	return out
}
