package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/record"
)

// State is where a job is.
type State string

// States of a job. EndedState is how scripts name completed and cancelled jobs that are still readable.
// GoneState is told by Ends alone, NewerState by States alone.
const (
	StateNone      State = "" // told by Ends: not ended; by States: nothing is known
	Scheduled      State = "scheduled"
	Ready          State = "ready"
	ActiveState    State = "active"
	RetryState     State = "retry"
	Parked         State = "parked"
	SpilledState   State = "spilled"
	CompletedState State = "completed"
	DeadState      State = "dead"
	CancelledState State = "cancelled"
	DeletedState   State = "deleted" // only the window knows it
	EndedState     State = "ended"
	GoneState      State = "gone"  // nothing is known
	NewerState     State = "newer" // its record was written by a newer version of Waybill
)

// Error is one failure or crash of a job.
type Error struct {
	Attempt int    `json:"attempt"`
	At      int64  `json:"at"`   // ms since 1970
	Type    string `json:"type"` // failure, crash, timeout, panic
	Message string `json:"message"`
	Worker  string `json:"worker"`
	Stack   string `json:"stack,omitempty"`
}

// Line is the form in which scripts keep it: JSON without line breaks.
func (e Error) Line() string {
	b, err := json.Marshal(e)
	if err != nil {
		return "" // strings and numbers always encode
	}
	return string(b)
}

// Info is all that is known of a job.
type Info struct {
	ID     string
	State  State
	Record *record.Record // nil where only the window knows the job
	// Counts of attempts and how they ended. After a requeue failures and crashes start from zero.
	Attempt, Failures, Crashes, Snoozes int
	Token                               string    // of the current or last attempt
	StartedAt, EndedAt                  time.Time // last claim; end of the last attempt or of the job
	NextAt                              time.Time // due time of a waiting job; zero where it waits for none
	LeaseEndsAt                         time.Time
	CancelRequested                     bool
	Reason                              string // of a cancel
	Errors                              []Error
	Progress                            *Progress // of the last attempt that told any; nil = none did
	Result                              []byte    // nil = none
	ResultDropped                       bool
	Now                                 time.Time // by the server's clock
}

// Worker is the process that holds or last held the job, from the token; "" where there was none.
func (i Info) Worker() string {
	_, rest, ok := strings.Cut(i.Token, "-")
	if !ok {
		return ""
	}
	worker, _, _ := strings.Cut(rest, ".")
	return worker
}

// Get tells all that is known of a job. Errors: ErrNotFound, ErrNewer, record.ErrDamaged.
func (q *Queue) Get(ctx context.Context, id string) (Info, error) {
	reply, _, err := q.call(ctx, "get", id)
	if err != nil {
		return Info{}, err
	}
	if len(reply) != 10 {
		return Info{}, fmt.Errorf("get: %d values: %w", len(reply), errReply)
	}
	info := Info{ID: id, State: State(text(reply[1])), Now: moment(reply[0])}
	switch info.State {
	case GoneState:
		return info, fmt.Errorf("job %s in queue %s: %w", id, q.name, ErrNotFound)
	case "newer":
		return info, fmt.Errorf("job %s in queue %s: %w", id, q.name, ErrNewer)
	case "known":
		return info, info.fromWindow(text(reply[9]))
	}
	return info, errors.Join(info.fill(text(reply[3]), text(reply[4]), reply[2]), info.extras(reply))
}

// windowStates are the states that the letters of a window entry stand for.
var windowStates = map[byte]State{'c': CompletedState, 'x': CancelledState, 'd': DeletedState}

func (i *Info) fromWindow(entry string) error {
	if len(entry) <= record.FingerprintLen {
		return fmt.Errorf("window entry %q: %w", entry, errReply)
	}
	i.State = windowStates[entry[record.FingerprintLen]]
	i.Token = strings.TrimLeft(entry[record.FingerprintLen+1:], "-!")
	return nil
}

// fill reads record, run entry and score.
func (i *Info) fill(raw, run string, score any) error {
	rec, err := record.Parse([]byte(raw))
	if err != nil {
		return fmt.Errorf("job %s: %w", i.ID, err)
	}
	i.Record = &rec
	outcome := i.fillRun(run)
	switch at := moment(score); i.State {
	case EndedState:
		i.State = State(outcome)
	case ActiveState:
		i.LeaseEndsAt, i.EndedAt = at, time.Time{}
	case Scheduled, RetryState:
		i.NextAt = at
	case DeadState:
		i.EndedAt = at
	}
	return nil
}

// fillRun reads a run entry: attempts failures crashes snoozes token outcome claimed [ended].
func (i *Info) fillRun(run string) (outcome string) {
	f := strings.Fields(run)
	if len(f) < 7 {
		return string(CompletedState)
	}
	for k, p := range []*int{&i.Attempt, &i.Failures, &i.Crashes, &i.Snoozes} {
		*p, _ = strconv.Atoi(f[k])
	}
	i.Token, i.StartedAt = strings.TrimLeft(f[4], "-!"), moment(f[6])
	if len(f) > 7 {
		i.EndedAt = moment(f[7])
	}
	return f[5]
}

// extras reads errors, cancel, progress and result.
func (i *Info) extras(reply []any) error {
	for line := range strings.Lines(text(reply[5])) {
		var e Error
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return fmt.Errorf("job %s: error line: %w", i.ID, err)
		}
		i.Errors = append(i.Errors, e)
	}
	if at, reason, ok := strings.Cut(text(reply[6]), " "); ok && at != "" {
		i.Reason, i.CancelRequested = reason, i.State == ActiveState
	}
	i.Progress = parseProgress(text(reply[7]))
	i.Result, i.ResultDropped = parseResult(text(reply[8]))
	return nil
}
