// Package topictest holds the tests that kill publishers, workers of subscriptions and Redis itself, and that turn back or
// delete by hand what a topic consists of, while its events are delivered; and count afterwards. The processes are the
// program in worker; one that is to die at a boundary kills itself there with SIGKILL.
package topictest

import (
	"fmt"
	"time"

	"github.com/waybillhq/waybill/topic"
)

// Topic of all events here.
var Topic = topic.Define[Event]("orders")

// Event number N, counted from 0. The numbers that a topic gives are counted from 1 and are others where several publish.
type Event struct{ N int }

// JobID is the event's ID, which a publisher that starts again gives again.
func (e Event) JobID() string { return ID(e.N) }

// ID of the event number n.
func ID(n int) string { return fmt.Sprintf("order-%06d", n) }

// Events are those of numbers from one, included, to another, excluded.
func Events(from, to int) []Event {
	out := make([]Event, to-from)
	for i := range out {
		out[i].N = from + i
	}
	return out
}

// Role is what a process does.
type Role string

// The roles.
const (
	Publish   Role = "publish"
	Subscribe Role = "subscribe"
)

// Boundary is a point at which a subscriber may be killed.
type Boundary string

// The boundaries.
const (
	Unanswered Boundary = "claim carried out, its reply dropped"
	Entered    Boundary = "handler entered"
	Committed  Boundary = "effect committed, before it is settled"
	Either     Boundary = "either" // Entered or Committed, by the seed
)

// Orders are what a process is told, as JSON in its only argument.
type Orders struct {
	Role  Role
	Redis string // URL

	// A publisher sends events From to To, the latter excluded, a batch at a time.
	From, To, Batch int
	Every           time.Duration // from the begin of a batch to the next

	// A subscriber.
	Subscription string
	Concurrency  int
	Lease        time.Duration
	Database     string        // URL; each event has an effect there with a receipt; "" = none has one
	Takes        time.Duration // how long the handler waits
	Fails        bool          // it fails every attempt; the third failure kills
	Tells        bool          // it says which attempts begin
	Guards       bool          // it looks for two attempts of an event at a time: see KeyRuns
	Die          Boundary      // at which it kills itself; "" = none
	DieAfter     time.Duration // not before it has lived so long
	DieFirst     bool          // only in the first attempt of a job, and it takes no job after that
	Seed         uint64
	Claim        []string // digests of the script claim, for Unanswered
}

// Keys of a subscriber that guards.
const (
	KeyRuns     = "guard:runs"     // hash: attempts of each event
	KeyRunning  = "guard:running:" // before an event's ID, while a handler runs
	KeyOverlaps = "guard:overlaps" // how often a second handler of an event began
)

// Told is what became of one batch of a publisher: all its events were taken.
type Told struct{ From, To, Accepted, Duplicates int }

// Said is a line that a process writes to its standard output, as JSON.
type Said struct {
	Told    *Told    `json:",omitempty"` // of a publisher
	At      Boundary `json:",omitempty"` // a subscriber is there and kills itself
	Job     string   `json:",omitempty"` // an attempt begins
	Attempt int      `json:",omitempty"`
}
