package runner

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// EventType says what happened.
type EventType string

// What an observer is told. The root package documents them.
const (
	Started   EventType = "started"
	Ended     EventType = "ended"
	LeaseLost EventType = "lease_lost"
	PutOff    EventType = "put_off"
	Deaf      EventType = "deaf"
	RedisDown EventType = "redis_down"
	RedisUp   EventType = "redis_up"

	QuietAsked EventType = "quiet_asked"
	StopAsked  EventType = "stop_asked"
)

// Event is what an observer is told; Queue, ID, Kind and Number are of the attempt.
type Event struct {
	Type            EventType
	Queue, ID, Kind string
	Number          int
	Outcome         End // Ended
	Took, Waited    time.Duration
	Err             error
	Recorded        bool
	Effects         store.Effects // Ended
}

// observer calls the user's function. Neither its panics are the worker's nor a Goexit, as a test's FailNow is one: so
// it is called in a goroutine of its own.
type observer struct {
	call   func(Event)
	log    *slog.Logger
	failed atomic.Bool
}

func (o *observer) tell(e Event) {
	done := make(chan struct{})
	go func() {
		returned := false
		defer close(done)
		defer func() {
			if p := recover(); !returned && o.failed.CompareAndSwap(false, true) {
				o.log.Error("observer panicked or ended its goroutine; that is not told again", slog.Any(keyError, p))
			}
		}()
		o.call(e)
		returned = true
	}()
	<-done
}

// tell gives an event of an attempt to the observer, if there is one.
func (a *Attempt) tell(e Event) {
	r := a.runner
	if r.team.notify == nil {
		return
	}
	e.Queue, e.ID, e.Kind, e.Number = r.o.Name, a.ID, a.Rec.Kind, a.Delivery.Attempt
	r.team.notify(e)
}

// wait is the time from when the job was first due until its first attempt began; 0 for later attempts.
func (a *Attempt) wait() time.Duration {
	if a.Delivery.Attempt > 1 || a.damage != nil {
		return 0
	}
	return max(0, a.serverNow().Sub(a.Rec.DueAt()))
}

// tellEnded tells how an attempt ended, once Redis has said what became of it.
func (e ending) tellEnded(said store.Verdict) {
	if e.a.runner.team.notify == nil {
		return
	}
	end := e.s.End
	if said == store.CancelledNow {
		end = Cancel
	}
	e.a.tell(Event{
		Type: Ended, Outcome: end, Took: e.took, Waited: e.waited, Err: e.err, Effects: e.s.Effects,
		Recorded: said == store.Done || said == store.Already || said == store.CancelledNow,
	})
}
