package outbox

import (
	"log/slog"
	"time"
)

// EventType says what a relay did or met.
type EventType string

// Types of events.
const (
	EventSent           EventType = "sent"            // rows were sent, and their queue has them: Rows
	EventEnded          EventType = "ended"           // rows were told what became of their jobs: Rows
	EventSetAside       EventType = "set_aside"       // a row can't be sent, and waits for a person: ID, Err; or all Rows of a queue that can be none
	EventFull           EventType = "full"            // the queue is full; its rows wait. Told at most once a minute
	EventNoSubscription EventType = "no_subscription" // the topic has no subscription and no bound; its rows wait. Told likewise. Err
	EventLost           EventType = "lost"            // Redis lost data of the queue: nothing is sent there until a replay. Err
	EventFailed         EventType = "failed"          // a round failed and is tried again: Err. Of the database or of Redis
	EventRecovered      EventType = "recovered"       // nothing failed for ten seconds, after something had
	EventPurged         EventType = "purged"          // rows of ended jobs were deleted: Rows
	EventLag            EventType = "lag"             // every ten seconds, for each queue: Lag
)

// Event is something that a relay did or met, for metrics. Beside Type and Queue only the fields are set that its type names.
type Event struct {
	Type  EventType
	Queue string // "" = of no queue: of the database, or of all of them
	ID    string // of a job
	Rows  int
	Lag   Lag
	Err   error
}

// Lag is how far the relay is behind in one queue. A zero time is none.
type Lag struct {
	Queue  string
	New    int64     // rows that are not sent yet
	Oldest time.Time // when the oldest of them was entered, by the database's clock
	// Unread words of the queue's on what became of jobs, and when the oldest of them was left, by Redis's clock; as of
	// ReadAt, by the database's.
	Unread       int64
	OldestUnread time.Time
	ReadAt       time.Time
}

// Keys of log attributes.
const (
	keyQueue = "queue"
	keyJob   = "job"
	keyError = "error"
	keyRows  = "rows"
)

// tell tells the observer. Its panics are logged and end nothing.
func (o *Outbox) tell(e Event) {
	if o.o.Observe == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			o.o.Log.Error("outbox: the observer panicked", slog.String(keyQueue, e.Queue), slog.Any(keyError, p))
		}
	}()
	o.o.Observe(e)
}
