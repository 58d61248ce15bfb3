package waybill

import (
	"context"
	"errors"
	"slices"
	"time"
)

// errEnded says that a worker works no more.
var errEnded = errors.New("waybill: the worker has ended")

// AddQueue makes the worker work off one more queue, from now on where it runs. Before Run it is as if the queue stood
// last in WorkerOptions.Queues; so where that was empty, the queues of the kinds are no longer worked off by
// themselves. Errors: ErrInvalid, also where the worker works the queue off already; an error where Run has ended.
func (w *Worker) AddQueue(o QueueOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	name := orDefault(o.Name)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ended:
		return errEnded
	case w.served[name] != nil || !w.started && w.listed(name) >= 0:
		return invalid("queue", "%s is worked off already", name)
	case w.started:
		return w.add(o)
	}
	w.o.Queues = append(w.o.Queues, o)
	return nil
}

// DropQueue stops working off a queue: no more claims, and the handlers that run have the grace. It returns when all
// of its jobs are settled or released, or with ctx's error, and then goes on all the same. Before Run it takes the
// queue out of WorkerOptions.Queues, and of those that have a handler of their own. Errors: ErrInvalid where the worker does not work the queue off; else as Run.
func (w *Worker) DropQueue(ctx context.Context, name string) error {
	name = orDefault(name)
	w.mu.Lock()
	s, at := w.served[name], w.listed(name)
	switch {
	case s != nil:
		s.stop()
	case !w.started && at >= 0:
		w.o.Queues = slices.Delete(w.o.Queues, at, at+1)
	case !w.started && w.owned(name):
	default:
		w.mu.Unlock()
		return invalid("queue", "%s is not worked off", name)
	}
	if !w.started {
		w.own = slices.DeleteFunc(w.own, func(q QueueOptions) bool { return q.Name == name })
	}
	w.mu.Unlock()
	if s == nil {
		return nil
	}
	select {
	case <-s.ended:
		return s.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// owned tells whether a queue is worked off since it has a handler of its own.
func (w *Worker) owned(name string) bool {
	return slices.ContainsFunc(w.own, func(q QueueOptions) bool { return q.Name == name })
}

// listed is the place of a queue in the options, or -1.
func (w *Worker) listed(name string) int {
	return slices.IndexFunc(w.o.Queues, func(q QueueOptions) bool { return orDefault(q.Name) == name })
}

// Quiet lets the worker take nothing new, for good: what runs goes on, and Run until its context ends.
func (w *Worker) Quiet() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.quiet = true
	for _, s := range w.served {
		s.runner.Quiet()
	}
}

// RunningAttempt is an attempt whose handler runs, for people to look at.
type RunningAttempt struct {
	ID, Queue, Kind string
	Attempt         int       // counted from 1
	Since           time.Time // when the worker got it
	// Deaf: the context ended at least five seconds before, and the handler has not returned. It keeps its slot.
	Deaf bool
	// InDoubt: Redis does not answer, so the lease may have run out. The attempt goes on; once Redis is back its lease
	// is renewed, or its context ends with ErrLeaseLost.
	InDoubt bool
}

// Running gives the attempts that run now, the oldest first, also those of handlers that did not return when their queue
// was dropped or the worker ended. It asks nothing of Redis.
func (w *Worker) Running() []RunningAttempt {
	w.mu.Lock()
	team := w.team
	w.mu.Unlock()
	if team == nil {
		return nil
	}
	var out []RunningAttempt
	for _, a := range team.Running() {
		out = append(out, RunningAttempt{
			ID: a.ID, Queue: a.Queue, Kind: a.Kind, Attempt: a.Number, Since: a.Since, Deaf: a.Deaf, InDoubt: a.InDoubt,
		})
	}
	slices.SortFunc(out, func(a, b RunningAttempt) int { return a.Since.Compare(b.Since) })
	return out
}

// all are the queues that are worked off now.
func (w *Worker) all() []*served {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]*served, 0, len(w.served))
	for _, s := range w.served {
		out = append(out, s)
	}
	return out
}

// Queues names the queues that the worker works off now, in the order of their names: none before Run and after it.
func (w *Worker) Queues() []string {
	var out []string
	for _, s := range w.all() {
		out = append(out, s.name)
	}
	slices.Sort(out)
	return out
}
