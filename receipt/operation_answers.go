package receipt

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/runner"
)

// Errors of operations.
var (
	// ErrRefused: the other side refused for good; see RefusedError. The job is dead.
	ErrRefused = errors.New("refused")
	// ErrPending: the other side has taken the call and has no answer yet. The job is snoozed.
	ErrPending = errors.New("pending at the other side")
	// ErrBusy: the other side does not take the call now. The job is snoozed.
	ErrBusy = errors.New("the other side is busy")
	// ErrKeyExpired: a call was not answered, and its idempotency key may no longer be known: to repeat it could do it twice.
	// The job is dead, for a person; see Receipts.Resolve.
	ErrKeyExpired = errors.New("unanswered, and the idempotency key has expired")
	// ErrUnanswered: a call was not answered, and there is no way to find out by oneself. The job is dead, for a person; see
	// Receipts.Resolve.
	// It is also the error of an operation that was pending and is not found any more.
	ErrUnanswered = errors.New("unanswered: nobody but the other side knows whether it happened")
	// ErrAnswered: the operation has an answer for good, and nobody can change it.
	ErrAnswered = errors.New("the operation has its answer")
	// ErrUnderWay: a call may be under way until the end of its timeout, so nobody can know that nothing has happened.
	ErrUnderWay = errors.New("a call may be under way")
	// errNotFoundThere is what NotFound gives.
	errNotFoundThere = errors.New("not found at the other side")
)

// RefusedError says why the other side refused. It unwraps to ErrRefused.
type RefusedError struct{ ID, Reason string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("operation %q was refused: %s", e.ID, e.Reason)
}

// Unwrap makes errors.Is(err, ErrRefused) true.
func (e *RefusedError) Unwrap() error { return ErrRefused }

// answer is what Send or Lookup may give beside a result.
type answer struct {
	state  State
	reason string
	after  time.Duration
	err    error
}

func (a *answer) Error() string { return a.err.Error() + ": " + a.reason }
func (a *answer) Unwrap() error { return a.err }

// Refused is the answer of Send or Lookup that the other side has refused for good, as a card that was declined. Errors that
// may pass, as a status of 5xx or a timeout, never are.
func Refused(reason string) error {
	return &answer{state: StateRefused, reason: clipped(reason), err: ErrRefused}
}

// Pending is the answer that the other side has taken the call and will know more in a while. The job is snoozed for so long.
// Then it is asked again: by Send with KeyTTL, else by Lookup. With neither somebody else has to bring the answer meanwhile,
// through Receipts.Resolve.
func Pending(after time.Duration, reason string) error {
	return &answer{state: StatePending, reason: clipped(reason), after: max(0, after), err: ErrPending}
}

// Busy is the answer that the other side has not taken the call, as a status of 429, 503, or a connection that was
// refused. A key that is in use there (409) is Pending: it was taken. The job is snoozed for so long, and the call is made again.
func Busy(after time.Duration, reason string) error {
	return &answer{state: StateBusy, reason: clipped(reason), after: max(0, after), err: ErrBusy}
}

// NotFound is the answer of Lookup that the other side knows nothing of the call.
func NotFound() error { return errNotFoundThere }

// State is how an operation stands.
type State string

// States of operations. Done and refused are for good.
const (
	StateIntended State = "intended" // saved; a call may be on its way, or was not answered
	StatePending  State = "pending"  // taken by the other side
	StateBusy     State = "busy"     // not taken: no call is open
	StateAnswered State = "answered" // done there; Operation.Record is yet to come, in the job's next attempt
	StateDone     State = "done"
	StateRefused  State = "refused"
	StateUnknown  State = "unknown" // unanswered, for a person
)

// final: nothing changes it any more.
func (s State) final() bool { return s == StateDone || s == StateRefused }

// answered: no call is made any more.
func (s State) answered() bool { return s.final() || s == StateAnswered }

// maxReason is the most that is kept of a reason, in bytes.
const maxReason = 1000

// clipped is the begin of a text, cut between characters, as UTF-8 without zero bytes.
func clipped(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s[:min(len(s), 2*maxReason)], "?"), "\x00", "")
	if len(s) <= maxReason {
		return s
	}
	end := maxReason
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// steer says how the job ends by an answer that is not "done".
func (a *answer) steer(id string) error {
	if a.state == StateRefused {
		return waybill.Dead(&RefusedError{ID: id, Reason: a.reason})
	}
	return &runner.Steer{End: runner.Snooze, Delay: a.after, Err: fmt.Errorf("operation %q: %w", id, a)}
}
