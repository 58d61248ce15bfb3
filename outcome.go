package waybill

import (
	"errors"
	"fmt"

	"github.com/waybillhq/waybill/internal/store"
)

// Outcome says what became of a job that was sent.
type Outcome string

// Outcomes. With the first four the job was taken; with the others Enqueued.Err says why not.
const (
	OutcomeAccepted    Outcome = "accepted"
	OutcomeDuplicate   Outcome = "duplicate" // the same ID and payload were accepted before; the first stands
	OutcomeWaited      Outcome = "waited"    // accepted after waiting for room
	OutcomeSpilled     Outcome = "spilled"   // accepted and kept aside until there is room
	OutcomeRejected    Outcome = "rejected"  // the queue is full
	OutcomeConflict    Outcome = "conflict"
	OutcomeInvalid     Outcome = "invalid"
	OutcomeUnavailable Outcome = "unavailable"
	OutcomeUnknown     Outcome = "unknown"
)

// Taken tells whether the job was taken: it is there, or was before.
func (o Outcome) Taken() bool {
	return o == OutcomeAccepted || o == OutcomeDuplicate || o == OutcomeWaited || o == OutcomeSpilled
}

// Enqueued is the answer to one job. ID and Queue are there also with an error. Of an event the queue is "topic:NAME".
type Enqueued struct {
	ID, Queue string
	Outcome   Outcome
	Err       error // nil where the job was taken
}

func (e *Enqueued) fail(o Outcome, err error) { e.Outcome, e.Err = o, err }

func (e *Enqueued) answer(a store.Enqueued, waited bool) {
	e.Err = nil
	switch {
	case errors.Is(a.Err, ErrUnavailable):
		e.fail(OutcomeUnavailable, a.Err)
	case errors.Is(a.Err, ErrNewer):
		e.fail(OutcomeConflict, fmt.Errorf("%s: %w: %w", jobIn(e.ID, e.Queue), ErrConflict, a.Err))
	case a.Err != nil:
		e.fail(OutcomeUnknown, a.Err)
	case a.Outcome == store.Full:
		e.fail(OutcomeRejected, &FullError{Queue: e.Queue, Depth: a.Depth, Capacity: a.Capacity})
	case a.Outcome == store.Nobody:
		topic, _ := store.TopicOf(e.Queue)
		e.fail(OutcomeRejected, fmt.Errorf("topic %s: %w", topic, ErrNoSubscription))
	case a.Outcome == store.Conflict:
		e.fail(OutcomeConflict, fmt.Errorf("%s: %w", jobIn(e.ID, e.Queue), ErrConflict))
	case a.Outcome == store.Accepted && waited:
		e.Outcome = OutcomeWaited
	default:
		e.Outcome = Outcome(a.Outcome)
	}
}

// jobIn names a job and its queue for people, or an event and its topic.
func jobIn(id, queue string) string {
	if topic, ok := store.TopicOf(queue); ok {
		return "event " + id + " of topic " + topic
	}
	return "job " + id + " in queue " + queue
}

// BulkErrorOf is the error of an EnqueueMany with these answers: nil where every job was taken, also where there are none,
// else a *BulkError.
func BulkErrorOf(out []Enqueued) error {
	b := &BulkError{Total: len(out)}
	for _, e := range out {
		if e.Err != nil {
			b.Errs = append(b.Errs, e.Err)
		}
	}
	if b.Failed = len(b.Errs); b.Failed == 0 {
		return nil
	}
	return b
}
