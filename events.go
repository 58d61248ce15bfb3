package waybill

import (
	"time"

	"github.com/waybillhq/waybill/internal/runner"
)

// EventType says what happened.
type EventType string

// Types of events, each with the fields it has beside Type and At.
const (
	// EventStarted: a handler begins. Queue, ID, Kind, Attempt; Waited.
	EventStarted EventType = "started"
	// EventEnded: an attempt has ended, and Redis has said what became of its end, or was given up. Queue, ID, Kind,
	// Attempt; Outcome, Took, Waited, Err, Recorded; Effects, Suppressed, Mismatches.
	EventEnded EventType = "ended"
	// EventLeaseLost: a job was given to somebody else, or deleted, while its attempt ran here. Queue, ID, Kind, Attempt.
	EventLeaseLost EventType = "lease_lost"
	// EventPutOff: a job came whose earlier attempt still runs here; it is snoozed for a second, and an EventEnded
	// follows. Queue, ID, Kind, Attempt.
	EventPutOff EventType = "put_off"
	// EventDeaf: a handler goes on five seconds after its context ended. It is told once and keeps its slot. Queue, ID,
	// Kind, Attempt; Took is how long ago the context ended, Err its cause.
	EventDeaf EventType = "deaf"
	// EventRedisDown: calls to Redis fail, of any queue. Queue and Err are of the first that failed.
	EventRedisDown EventType = "redis_down"
	// EventRedisUp: all calls are answered again, or the queue whose calls failed was dropped. Took is how long Redis was away.
	EventRedisUp EventType = "redis_up"
	// EventQuietAsked: an operator asked the worker to claim nothing more, and it does so.
	EventQuietAsked EventType = "quiet_asked"
	// EventStopAsked: an operator asked the worker to stop, and Run now ends as when its context does.
	EventStopAsked EventType = "stop_asked"
)

// AttemptOutcome is how an attempt ended.
type AttemptOutcome string

// Outcomes of attempts.
const (
	AttemptCompleted AttemptOutcome = "completed"
	AttemptRetry     AttemptOutcome = "retry"     // it failed, and the job is tried again
	AttemptSnoozed   AttemptOutcome = "snoozed"   // put off, no failure
	AttemptDead      AttemptOutcome = "dead"      // it failed, and the job is not tried again
	AttemptCancelled AttemptOutcome = "cancelled" // by the handler, or as somebody asked
	AttemptReleased  AttemptOutcome = "released"  // given back undone: the worker stops, or can't run it
)

// Event is something that happened in a worker, for metrics and traces. Which fields it has stands at its type.
//
// WorkerOptions.Observe is called with it from many goroutines, and what it takes the worker waits for: it is to be
// quick, and not to call the worker. Its panics are caught and logged, and so is
// runtime.Goexit, as a test's FailNow calls it.
type Event struct {
	Type            EventType
	At              time.Time // of the call, by this process's clock
	Queue, ID, Kind string
	Attempt         int // counted from 1
	Outcome         AttemptOutcome
	Took            time.Duration // of the handler, unless its type says otherwise
	// Waited is the time from when the job was first due until this attempt began, for first attempts; for later ones 0.
	Waited time.Duration
	Err    error // as the handler returned it, or what it or its retry policy panicked with
	// Recorded: the end stands in Redis. If not, the lease had been lost and the end changed nothing, or Redis did not
	// answer until the worker had to end.
	Recorded bool
	// What the attempt told by Attempt.Count. The queue's counters have it only where the end is recorded.
	Effects, Suppressed, Mismatches int
}

func newEvent(e runner.Event) Event {
	return Event{
		Type: EventType(e.Type), At: time.Now(), Queue: e.Queue, ID: e.ID, Kind: e.Kind, Attempt: e.Number,
		Outcome: outcomeOf(e.Outcome), Took: e.Took, Waited: e.Waited, Err: e.Err, Recorded: e.Recorded,
		Effects: e.Effects.Applied, Suppressed: e.Effects.Suppressed, Mismatches: e.Effects.Mismatches,
	}
}

func outcomeOf(end runner.End) AttemptOutcome {
	switch end {
	case runner.Ack, runner.Complete:
		return AttemptCompleted
	case runner.Snooze:
		return AttemptSnoozed
	case runner.Cancel:
		return AttemptCancelled
	case runner.Release:
		return AttemptReleased
	}
	return AttemptOutcome(end) // retry and dead are the same words; "" where nothing ended
}
