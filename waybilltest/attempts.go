package waybilltest

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill"
)

// Ran is an attempt that has ended.
type Ran struct {
	ID, Queue, Kind string
	Attempt         int // which one of the job, from 1
	Outcome         waybill.AttemptOutcome
	Err             error // as the handler returned it
}

// attempts is what the worker runs and what it ran.
type attempts struct {
	mu      sync.Mutex
	ran     []*attempt          // since the last take, in the order of their begins; those under way too
	running map[string]*attempt // by what people call them
	kinds   map[string]bool     // that ran
}

type attempt struct {
	Ran
	since time.Time
	ended bool
}

// observer tells of the worker's events, and hands them on.
func (a *attempts) observer(next func(waybill.Event)) func(waybill.Event) {
	a.running, a.kinds = map[string]*attempt{}, map[string]bool{}
	return func(ev waybill.Event) {
		if next != nil {
			defer next(ev)
		}
		a.observe(ev)
	}
}

func (a *attempts) observe(ev waybill.Event) {
	if ev.Type != waybill.EventStarted && ev.Type != waybill.EventEnded {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	name := fmt.Sprintf("attempt %d of job %s, kind %s, queue %s", ev.Attempt, ev.ID, ev.Kind, ev.Queue)
	one := a.running[name]
	if one == nil {
		one = &attempt{since: ev.At}
		a.ran = append(a.ran, one)
		a.running[name], a.kinds[ev.Kind] = one, true
	}
	one.Ran = Ran{ev.ID, ev.Queue, ev.Kind, ev.Attempt, ev.Outcome, ev.Err}
	if ev.Type == waybill.EventEnded {
		one.ended = true
		delete(a.running, name)
	}
}

// under are the attempts under way, for people to read.
func (a *attempts) under() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for _, name := range slices.Sorted(maps.Keys(a.running)) {
		out = append(out, fmt.Sprintf("%s: runs for %s", name, time.Since(a.running[name].since).Round(time.Millisecond)))
	}
	return out
}

// known tells whether a kind ever ran.
func (a *attempts) known(kind string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kinds[kind]
}

// take gives what has ended and was not taken before.
func (a *attempts) take() []Ran {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []Ran
	a.ran = slices.DeleteFunc(a.ran, func(one *attempt) bool {
		if one.ended {
			out = append(out, one.Ran)
		}
		return one.ended
	})
	return out
}
