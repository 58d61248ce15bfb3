package waybill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/runner"
	"github.com/waybillhq/waybill/internal/store"
)

// served is one queue of a worker that runs.
type served struct {
	name   string
	queue  *knownQueue
	runner *runner.Runner

	concurrency int
	subscribe   string // the place of the subscription that is to be there; "" = none is made
	stop        context.CancelFunc
	ended       chan struct{}
	err         error // once it has ended
}

// Run works until ctx ends; then it claims nothing more, waits for the handlers, cancels those that
// outlast the grace, and settles or releases every job. It returns nil where that went well, and at the latest about
// seven seconds after the grace, also where Redis does not answer.
// Redis being away is no error: the worker tries again until ctx ends. Errors: ErrInvalid where no kind
// is handled, or a kind's queue is not among those of the options; Run called twice is an error too.
func (w *Worker) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	shown := newPresence(w)
	shown.stop = stop
	var all sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	launch := func(s *served) {
		var own context.Context
		own, s.stop = context.WithCancel(ctx)
		all.Go(func() {
			w.serve(own, s, shown)
			if ctx.Err() != nil { // who dropped the queue before is told there
				mu.Lock()
				errs = append(errs, s.err)
				mu.Unlock()
			}
		})
	}
	if err := w.start(launch); err != nil {
		return err
	}
	watch, enough := context.WithCancel(context.WithoutCancel(ctx))
	defer enough()
	var watching sync.WaitGroup
	watching.Go(func() { w.team.Run(watch) })
	watching.Go(func() { shown.run(watch) })
	<-ctx.Done()
	watching.Go(w.team.Silence)
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	shown.call()
	all.Wait()
	enough()
	watching.Wait()
	return errors.Join(errs...)
}

// serve works one queue off until ctx ends.
func (w *Worker) serve(ctx context.Context, s *served, p *presence) {
	defer s.stop()
	p.call()
	if s.err = w.subscribe(ctx, s); s.err == nil {
		unheed := s.heed(p)
		var remaining sync.WaitGroup
		remaining.Go(func() { w.remain(ctx, s) })
		s.err = s.runner.Run(ctx)
		unheed()
		s.stop()
		remaining.Wait()
	} else {
		p.stop() // a worker that can't do what it was told says so
	}
	w.mu.Lock()
	delete(w.served, s.name)
	w.mu.Unlock()
	close(s.ended)
	p.call()
}

// heed hears of cancels, so that a handler is told at once, and of jobs that no bell rings for. A notice that is lost
// costs no more than the time until the next renewal, or look.
func (s *served) heed(p *presence) (stop func()) {
	return s.queue.Follow(store.ControlChannel, func(line string) {
		if id, ok := strings.CutPrefix(line, "cancel "); ok {
			s.runner.Look(id)
		} else if line == "parked" || line == "resumed" || line == "" { // "": until now notices were missed
			s.runner.Nudge()
		}
		p.heed(line)
	})
}

func (w *Worker) start(launch func(*served)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.started {
		return errors.New("waybill: Run called twice")
	}
	if len(w.kinds)+len(w.within) == 0 {
		return &record.InputError{Field: "handlers", Why: "are none: register at least one kind"}
	}
	if err := w.checkQueues(); err != nil {
		return err
	}
	queues := w.queues()
	for _, q := range queues { // all names, before work begins on any
		if _, err := w.client.queue(orDefault(q.Name)); err != nil {
			return err
		}
	}
	for name, h := range w.kinds {
		w.kinds[name] = handled{h.o, wrapped(h.handle, w.middleware)}
	}
	for name, h := range w.within {
		w.within[name] = handled{h.o, wrapped(h.handle, w.middleware)}
	}
	w.started, w.launch = true, launch
	w.team = w.newTeam()
	for _, q := range queues {
		if err := w.add(q); err != nil {
			return err
		}
	}
	return nil
}

// newTeam makes what the queues share.
func (w *Worker) newTeam() *runner.Team {
	slots := runner.SlotsOptions{Total: w.o.Concurrency, Strict: w.o.StrictPriority, Limits: map[string]int{}, Bounded: len(w.within) == 0}
	for name, h := range w.kinds {
		if h.o.Concurrency > 0 {
			slots.Limits[name] = h.o.Concurrency
		} else {
			slots.Bounded = false
		}
	}
	listens, names := w.client.store.Ears()
	o := runner.TeamOptions{
		Slots: slots, Listener: w.client.store, Listens: listens, Names: names, Poll: w.o.PollInterval, Log: w.log,
		Roster: &w.client.roster,
	}
	if observe := w.o.Observe; observe != nil {
		o.Observe = func(e runner.Event) { observe(newEvent(e)) }
	}
	return runner.NewTeam(o)
}

// add begins to work a queue off. The caller holds the lock.
func (w *Worker) add(q QueueOptions) error {
	known, err := w.client.queue(orDefault(q.Name))
	if err != nil {
		return err
	}
	s := &served{name: known.Name(), queue: known, subscribe: q.Subscribe, ended: make(chan struct{})}
	s.concurrency = cmp.Or(q.Concurrency, w.o.Concurrency, DefaultConcurrency)
	s.runner = w.runner(known, s.concurrency, q.Weight)
	if w.quiet {
		s.runner.Quiet()
	}
	w.served[s.name] = s
	w.launch(s)
	return nil
}

// checkQueues refuses a kind whose own queue this worker does not work off: its jobs would wait unseen.
func (w *Worker) checkQueues() error {
	worked := map[string]bool{}
	for _, q := range w.o.Queues {
		worked[orDefault(q.Name)] = true
	}
	for name, h := range w.kinds {
		if h.o.Queue != "" && len(worked) > 0 && !worked[h.o.Queue] {
			return &record.InputError{
				Field: "queues", Why: fmt.Sprintf("lack %s, the queue of kind %s: add it, or handle the kind On another queue", h.o.Queue, name),
			}
		}
	}
	return nil
}

// queues are those of the options, or of the handled kinds, by name, and those that have a handler of their own.
func (w *Worker) queues() []QueueOptions {
	out := w.listedQueues()
	for _, q := range w.own {
		i := slices.IndexFunc(out, func(o QueueOptions) bool { return orDefault(o.Name) == q.Name })
		if i < 0 {
			out = append(out, q)
			continue
		}
		out[i] = out[i].or(q)
	}
	return out
}

// or is the queue's options with those of its handler where they say nothing: or a subscription would not be made.
func (o QueueOptions) or(of QueueOptions) QueueOptions {
	o.Concurrency = cmp.Or(o.Concurrency, of.Concurrency)
	o.Weight = cmp.Or(o.Weight, of.Weight)
	o.Subscribe = cmp.Or(o.Subscribe, of.Subscribe)
	return o
}

func (w *Worker) listedQueues() []QueueOptions {
	if len(w.o.Queues) > 0 {
		return slices.Clone(w.o.Queues)
	}
	names := map[string]bool{}
	for _, h := range w.kinds {
		names[orDefault(h.o.Queue)] = true
	}
	var out []QueueOptions
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, QueueOptions{Name: name})
	}
	return out
}

func (w *Worker) runner(q *knownQueue, concurrency, weight int) *runner.Runner {
	var kinds []string
	_, every := w.kinds[AnyKind]
	if _, own := w.within[q.Name()]; !every && !own {
		kinds = slices.Sorted(maps.Keys(w.kinds))
	}
	return w.team.Runner(runner.Options{
		Name: q.Name(), Queue: q.Queue, Concurrency: concurrency, Weight: weight, Lease: w.o.Lease, Grace: w.o.Grace,
		Kinds: kinds, Policy: w.policy(q.Name()),
		Handle: func(ctx context.Context, a *runner.Attempt) ([]byte, error) {
			return w.of(q.Name(), a.Rec.Kind).handle(ctx, w.attempt(q.Name(), a))
		},
	})
}
