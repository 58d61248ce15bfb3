package runner

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/record"
)

// patrolEvery is how often handlers are looked for that do not return.
const patrolEvery = time.Second

// Without a poll time of its own a worker looks at an idle queue every second, and at many queues so seldom that it
// makes at most a hundred looks a second.
const (
	leastPoll = time.Second
	pollShare = 10 * time.Millisecond
)

// TeamOptions of a Team. Listener is required, and slots.
type TeamOptions struct {
	Slots    SlotsOptions
	Listener Listener
	Listens  int           // under way at a time; 0 = 1
	Names    int           // queues in one listen; 0 = 1
	Poll     time.Duration // longest time between two looks at a queue with a free slot; 0 = 1 s, or 10 ms a queue
	Roster   *Roster       // of the jobs that run in this process, for all of its teams; nil = one of its own
	Log      *slog.Logger  // nil = silent
	Observe  func(Event)   // nil = nobody; called from many goroutines
}

// Team is what the runners of one worker share: slots, ears, and what they know of Redis. It is safe for
// concurrent use.
type Team struct {
	slots    *Slots
	ears     *Ears
	outage   *outage
	suspects gate
	poll     time.Duration
	log      *slog.Logger
	notify   func(Event) // nil: nobody asks

	roster  *Roster
	mu      sync.Mutex
	runners []*Runner
	stayed  []*Runner // they have ended, and some of their handlers have not
}

// NewTeam makes a team. It sends nothing.
func NewTeam(o TeamOptions) *Team {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Roster == nil {
		o.Roster = &Roster{}
	}
	// A claim, as a listen, holds a connection. As many of the one as of the other leave some for renewing and settling.
	o.Listens, o.Names = max(1, o.Listens), max(1, o.Names)
	if o.Slots.Claims == 0 {
		o.Slots.Claims = o.Listens
	}
	t := &Team{
		slots: NewSlots(o.Slots), poll: o.Poll, log: o.Log, outage: newOutage(o.Log), roster: o.Roster,
		ears: NewEars(EarsOptions{Listener: o.Listener, Calls: o.Listens, Names: o.Names}),
	}
	if o.Observe != nil {
		t.notify = (&observer{call: o.Observe, log: o.Log}).tell
	}
	t.outage.notify = t.notify
	t.ears.line = t.outage.line("")
	return t
}

// Run watches over the handlers until ctx ends, and then waits for the last listens. It is to outlast the runners.
func (t *Team) Run(ctx context.Context) {
	tick := time.NewTicker(patrolEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			t.ears.Close()
			return
		case now := <-tick.C:
			t.patrol(now)
		}
	}
}

// Silence lets the team listen no more, and waits for the listens under way, about a second.
func (t *Team) Silence() { t.ears.Close() }

// Tell gives an event of the whole worker to its observer, if there is one.
func (t *Team) Tell(e Event) {
	if t.notify != nil {
		t.notify(e)
	}
}

// Runner makes the runner of one queue. It sends nothing. Queues of a team are to have different names.
func (t *Team) Runner(o Options) *Runner {
	r := &Runner{
		o: o, team: t, worker: record.NewWorkerID(), freed: make(chan struct{}, 1), nudged: make(chan struct{}, 1),
		stopping: make(chan struct{}),
		quiet:    make(chan struct{}), givenUp: make(chan struct{}), held: map[string]*Attempt{}, running: map[string]*Attempt{},
		began: time.Now(), line: t.outage.line(o.Name),
	}
	r.log = t.log.With(slog.String(keyQueue, o.Name), slog.String(keyWorker, r.worker))
	r.seat = t.slots.Join(o.Name, o.Concurrency, max(1, o.Weight))
	r.ear = t.ears.Join(o.Name, o.Queue.Ring)
	r.looks = batch.New(settleMost, r.look)
	t.mu.Lock()
	t.runners = append(t.runners, r)
	t.mu.Unlock()
	return r
}

// all are the runners, those too that have ended and whose handlers have not.
func (t *Team) all() []*Runner {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stayed = slices.DeleteFunc(t.stayed, func(r *Runner) bool { return len(r.attempts()) == 0 })
	return slices.Concat(t.runners, t.stayed)
}

// Running gives the attempts whose handlers run, of all queues, those too that were given up or whose runner has ended.
func (t *Team) Running() []Running {
	var out []Running
	for _, r := range t.all() {
		out = append(out, r.Running()...)
	}
	return out
}

// patrol tells of handlers that do not return.
func (t *Team) patrol(now time.Time) {
	for _, r := range t.all() {
		r.patrol(now)
	}
}

// leave takes a runner away that has ended.
func (t *Team) leave(r *Runner) {
	r.ear.Hush()
	r.seat.Leave()
	t.mu.Lock()
	t.runners = slices.DeleteFunc(t.runners, func(other *Runner) bool { return other == r })
	t.stayed = append(t.stayed, r)
	goesOn := slices.ContainsFunc(t.runners, func(other *Runner) bool { return !other.isStopping() })
	t.mu.Unlock()
	r.line.end(goesOn)
}

// pollTime is the longest time between two looks at a queue.
func (t *Team) pollTime() time.Duration {
	if t.poll > 0 {
		return t.poll
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(leastPoll, time.Duration(len(t.runners))*pollShare)
}
