// Package health tells over HTTP whether a worker does what it is there for: it is red while Redis is away, and while
// work is due, a slot is free for it, and the worker does not ask for it.
package health

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/waybillhq/waybill"
)

const (
	// dueTime is how long work may be due, seen by two looks or more, without being asked for. It is many times a
	// worker's poll interval.
	dueTime   = 30 * time.Second
	lookEvery = time.Second     // at most; looks between are answered as the last one was
	lookTime  = 2 * time.Second // of one look, over all queues
)

// Options of a Watch. All are required but Unable and Now.
type Options struct {
	Queues  []waybill.QueueOptions // each with its concurrency
	Stats   func(ctx context.Context, queue string) (waybill.QueueStats, error)
	Running func() []waybill.RunningAttempt
	Unable  func() error     // why the worker can do no job now; nil = it always can
	Now     func() time.Time // nil = time.Now
}

// Watch knows how a worker fares. Make it with New. It is safe for concurrent use.
type Watch struct {
	o Options

	look   sync.Mutex // held through a look
	looked time.Time
	said   []string

	mu    sync.Mutex
	down  error
	rests bool
	due   map[string]time.Time // since when a queue's work was seen to be due, and none was begun
}

// New makes a Watch. It asks nothing.
func New(o Options) *Watch {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Watch{o: o, due: map[string]time.Time{}}
}

// Observe is to be told of the worker's events.
func (w *Watch) Observe(e waybill.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e.Type {
	case waybill.EventStarted:
		delete(w.due, e.Queue)
	case waybill.EventRedisDown:
		w.down = e.Err
	case waybill.EventRedisUp:
		w.down = nil
	}
}

// Rest says that the worker asks for no more work, by will: what is due no longer makes it red.
func (w *Watch) Rest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rests = true
}

// Reasons says why the worker is not well, a line each; none = it is. It asks Redis, at most once a second.
func (w *Watch) Reasons(ctx context.Context) []string {
	w.look.Lock()
	defer w.look.Unlock()
	if now := w.o.Now(); w.looked.IsZero() || now.Sub(w.looked) >= lookEvery {
		w.said = w.ask(context.WithoutCancel(ctx)) // others are told of it too
		w.looked = w.o.Now()
	}
	return w.said
}

func (w *Watch) ask(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	var why []string
	if w.o.Unable != nil {
		if err := w.o.Unable(); err != nil {
			why = append(why, "no job can be done: "+err.Error())
		}
	}
	w.mu.Lock()
	down := w.down
	w.mu.Unlock()
	if down != nil {
		return append(why, "Redis is away: "+down.Error())
	}
	for _, q := range w.o.Queues {
		s, err := w.o.Stats(ctx, q.Name)
		if err != nil {
			return append(why, "Redis is away: "+err.Error())
		}
		if since, ok := w.overdue(q, s); ok {
			why = append(why, fmt.Sprintf("queue %s: %d ready, a slot free, and none begun for %s", q.Name, s.Ready, since.Round(time.Second)))
		}
	}
	return why
}

// overdue tells whether a queue's work is due and not asked for, and for how long. A job's age does not tell since when
// it is due; so it takes two looks.
func (w *Watch) overdue(q waybill.QueueOptions, s waybill.QueueStats) (time.Duration, bool) {
	runs := 0
	for _, a := range w.o.Running() {
		if a.Queue == q.Name {
			runs++
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.Ready == 0 || s.PausedBy != "" || w.rests || s.OldestReady < dueTime || runs >= q.Concurrency {
		delete(w.due, q.Name)
		return 0, false
	}
	if _, ok := w.due[q.Name]; !ok {
		w.due[q.Name] = w.o.Now()
	}
	since := w.o.Now().Sub(w.due[q.Name])
	return since, since >= dueTime
}
