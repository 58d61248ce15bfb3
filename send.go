package waybill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/store"
)

// A call takes at most so many jobs and bytes of payload: the store's bounds of one script call.
const (
	callJobs  = 1000
	callBytes = 1 << 20
)

// sender sends the jobs of one queue. What callers hand over while a call is under way goes together with the
// next one: a lone caller sees one round trip, fifty share few.
type sender struct {
	q             *store.Queue
	reject, spill *batch.Batcher[*parcel]
	registered    atomic.Int64 // when the queue's name was last registered, ns since 1970
}

// registerEvery is how often a client writes the names of queues it sends to into the list of
// queues, which people read.
const (
	registerEvery = time.Minute
	registerTime  = time.Second // jobs wait meanwhile
)

func newSender(q *store.Queue) *sender {
	s := &sender{q: q}
	s.reject = batch.NewFitting(fitParcels, func(p []*parcel) { s.send(p, false) })
	s.spill = batch.NewFitting(fitParcels, func(p []*parcel) { s.send(p, true) })
	return s
}

// parcel is what one caller hands over in one piece: packed, so that nothing of the caller's is looked at once it has
// gone on.
type parcel struct {
	q        *store.Queue
	ctx      context.Context // the caller's: for its values; it ends no call that others share
	jobs     []store.Add     // of whoever moved state on from parcelWaits
	n, bytes int
	state    atomic.Int32
	said     []store.Enqueued
	came     chan struct{} // closed when said is there
}

// States of a parcel.
const (
	parcelWaits int32 = iota
	parcelGone
	parcelWithdrawn
)

// hand gives jobs to be sent, in order.
func (s *sender) hand(ctx context.Context, jobs []store.Add, spill bool) *parcel {
	p := &parcel{q: s.q, ctx: ctx, jobs: jobs, n: len(jobs), came: make(chan struct{})}
	if ctx.Err() != nil {
		p.state.Store(parcelWithdrawn)
		p.said = p.unanswered(store.ErrUnavailable)
		close(p.came)
		return p
	}
	for i := range jobs {
		p.bytes += jobs[i].Pack()
	}
	if spill {
		s.spill.Add(p)
	} else {
		s.reject.Add(p)
	}
	return p
}

// fitParcels is how many of the waiting parcels go into one call.
func fitParcels(waiting []*parcel) int {
	jobs, bytes := 0, 0
	for i, p := range waiting {
		jobs, bytes = jobs+p.n, bytes+p.bytes
		if i > 0 && (jobs > callJobs || bytes > callBytes) {
			return i
		}
	}
	return len(waiting)
}

// fitJobs is how many of the jobs go into one parcel.
func fitJobs(jobs []store.Add) int {
	bytes := 0
	for i, j := range jobs {
		if bytes += len(j.Job.Payload); i > 0 && (i == callJobs || bytes > callBytes) {
			return i
		}
	}
	return len(jobs)
}

// lastMoment is how long a caller whose context ended waits for the answer to a call that is under way: an answer
// is worth more than unknown, and mostly there within a millisecond.
const lastMoment = 20 * time.Millisecond

// await gives one answer a job. A caller whose context ends first learns the truth: nothing happened where its
// jobs were not yet on their way, else unknown.
func (p *parcel) await() []store.Enqueued {
	select {
	case <-p.came:
		return p.said
	case <-p.ctx.Done():
	}
	if p.state.CompareAndSwap(parcelWaits, parcelWithdrawn) {
		p.jobs = nil // it may wait in line for long
		return p.unanswered(store.ErrUnavailable)
	}
	t := time.NewTimer(lastMoment)
	defer t.Stop()
	select {
	case <-p.came:
		return p.said
	case <-t.C:
		return p.unanswered(store.ErrUnknown)
	}
}

func (p *parcel) unanswered(kind error) []store.Enqueued {
	err := fmt.Errorf("%w: %w", kind, p.ctx.Err())
	if trouble := p.q.Trouble(); trouble != nil {
		err = fmt.Errorf("%w; last error: %w", err, trouble)
	}
	out := make([]store.Enqueued, p.n)
	for i := range out {
		out[i].Err = err
	}
	return out
}

// send makes one call of parcels that wait. Called by the batcher.
func (s *sender) send(parcels []*parcel, spill bool) {
	going, n := parcels[:0], 0
	for _, p := range parcels {
		if p.state.CompareAndSwap(parcelWaits, parcelGone) {
			going = append(going, p)
			n += p.n
		}
	}
	if len(going) == 0 {
		return
	}
	jobs := make([]store.Add, 0, n)
	for _, p := range going {
		jobs = append(jobs, p.jobs...)
	}
	said := s.q.Enqueue(context.WithoutCancel(going[0].ctx), jobs, spill)
	there := slices.ContainsFunc(said, leavesName)
	for _, p := range going {
		p.said, said = said[:p.n:p.n], said[p.n:]
		close(p.came)
	}
	if there {
		s.register(going[0].ctx)
	}
}

// leavesName tells whether there is, or may be, something under the name that an answer is about.
func leavesName(e store.Enqueued) bool {
	return e.Outcome != store.Nobody && !errors.Is(e.Err, store.ErrUnavailable)
}

// register writes the queue's name into the list of queues, once a minute. A failure is left to the next minute:
// nothing but a list for people depends on it.
func (s *sender) register(ctx context.Context) {
	last, now := s.registered.Load(), time.Now().UnixNano()
	if now-last < int64(registerEvery) || !s.registered.CompareAndSwap(last, now) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), registerTime)
	defer cancel()
	_ = s.q.Register(ctx)
}

// wait returns when nothing is under way.
func (s *sender) wait() {
	s.reject.Wait()
	s.spill.Wait()
}
