package waybilltest

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

// sent is what was enqueued through a client and taken, in order. One ID is one job.
type sent struct {
	mu       sync.Mutex
	requests []waybill.Request
}

// record is the client's middleware.
func (s *sent) record(next waybill.Enqueuer) waybill.Enqueuer {
	return func(ctx context.Context, requests []waybill.Request) []waybill.Enqueued {
		out := next(ctx, requests)
		s.mu.Lock()
		defer s.mu.Unlock()
		for i, r := range requests {
			if i < len(out) && out[i].Outcome.Taken() && (out[i].Outcome != waybill.OutcomeDuplicate || !s.has(r)) {
				r.Payload = bytes.Clone(r.Payload) // the caller's own, to do with as it likes
				s.requests = append(s.requests, r)
			}
		}
		return out
	}
}

func (s *sent) has(r waybill.Request) bool {
	return slices.ContainsFunc(s.requests, func(o waybill.Request) bool { return o.ID == r.ID && o.Queue == r.Queue })
}

func (s *sent) all() []waybill.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *sent) queues() []string {
	var names []string
	for _, r := range s.all() {
		if _, event := store.TopicOf(r.Queue); !event {
			names = append(names, r.Queue)
		}
	}
	return names
}

// distinct gives all names, each once, in a fixed order.
func distinct(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

// Requests gives all jobs that were enqueued through Client and taken, in order, also those that were worked off: with
// IDs, headers, priorities and times, as the code under test handed them over. Events that were published stand among them;
// their Queue is "topic:" and the topic's name.
func (e *Env) Requests() []waybill.Request { return e.sent.all() }
