package waybill

import (
	"cmp"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/store"
)

// State is where a job is.
type State string

// States of a job.
const (
	StateScheduled State = "scheduled" // due later, first time or snoozed
	StateReady     State = "ready"
	StateParked    State = "parked" // set aside by kind: no worker so far knew the kind or had room for it
	StateActive    State = "active"
	StateRetry     State = "retry"   // due later, after a failure or crash
	StateSpilled   State = "spilled" // kept aside until there is room
	StateCompleted State = "completed"
	StateDead      State = "dead"
	StateCancelled State = "cancelled"
	StateDeleted   State = "deleted" // only the settled window knows it
)

// Progress is what an attempt last told of how far it has come.
type Progress struct {
	Percent int
	Note    string    // one line
	At      time.Time // when it was told, by Redis's clock
}

// JobError is one failure or crash.
type JobError struct {
	Attempt int
	At      time.Time
	Type    string // failure, crash, timeout or panic
	Message string
	Worker  string
	Stack   string // of a panic
}

// JobInfo is all that is known of a job. Where only the settled window knows it, Known is false
// and nothing but ID, Queue, State and Token is there.
type JobInfo struct {
	ID, Queue, Kind                                           string
	State                                                     State
	Known                                                     bool
	Payload, Result                                           []byte // Result: nil = none
	ResultDropped                                             bool   // there was one, over the limit
	Headers                                                   map[string]string
	Priority, MaxFailures, Version                            int // MaxFailures: 0 = the worker's, Unlimited
	LIFO                                                      bool
	Retention                                                 time.Duration
	Attempt, Failures, Crashes, Snoozes                       int // since the last requeue: Failures, Crashes
	Token, Worker                                             string
	Host                                                      string // of the worker that runs it, as "host pid 17"; by Get, "" = not known
	CancelRequested                                           bool
	Reason                                                    string // of a cancel
	Errors                                                    []JobError
	Progress                                                  *Progress // of the last attempt that told any; nil = none did
	EnqueuedAt, DueAt, StartedAt, FinishedAt, LeaseEndsAt, At time.Time // zero = none; At: when this was read
	BornAt                                                    time.Time // by which receipts judge its age; kept by Restore
	// Scope is the queue in which the job was first enqueued, by which its receipts are kept; a move and Restore keep it.
	Scope string
	// Event is the ID of the event in a subscription, Replay what brought it again, as of an Attempt; "" = none. Again tells a
	// replay that repeats effects. A move and Restore keep them, since receipts go by them.
	Event, Replay string
	Again         bool
}

func jobInfo(queue string, i store.Info) JobInfo {
	j := JobInfo{
		ID: i.ID, Queue: queue, State: State(i.State), Token: i.Token, Worker: i.Worker(), At: i.Now,
		Attempt: i.Attempt, Failures: i.Failures, Crashes: i.Crashes, Snoozes: i.Snoozes, StartedAt: i.StartedAt,
		LeaseEndsAt: i.LeaseEndsAt, CancelRequested: i.CancelRequested, Reason: i.Reason,
		Result: i.Result, ResultDropped: i.ResultDropped,
	}
	if p := i.Progress; p != nil {
		j.Progress = &Progress{Percent: p.Percent, Note: p.Note, At: p.At}
	}
	for _, e := range i.Errors {
		j.Errors = append(j.Errors, JobError{e.Attempt, time.UnixMilli(e.At), e.Type, e.Message, e.Worker, e.Stack})
	}
	if r := i.Record; r != nil {
		j.Known, j.Kind, j.Payload, j.Headers = true, r.Kind, r.Payload, r.Headers
		j.Priority, j.LIFO, j.Retention = r.Head.Priority, r.Head.LIFO, r.Retention
		j.MaxFailures, j.Version, j.EnqueuedAt, j.DueAt, j.BornAt = r.MaxFailures, r.Version, r.EnqueuedAt, r.DueAt(), r.BornAt()
		j.Scope = cmp.Or(r.Scope, queue)
		j.Event, j.Replay, j.Again = eventOf(j.ID, r.Event, j.Scope), r.Replay, r.Again
	}
	if !i.NextAt.IsZero() {
		j.DueAt = i.NextAt
	}
	switch j.State {
	case StateCompleted, StateDead, StateCancelled:
		j.FinishedAt = i.EndedAt
	}
	return j
}

// MarshalJSON gives the object that command line and HTTP API print: every field always there,
// null = none, times in UTC with milliseconds.
func (j JobInfo) MarshalJSON() ([]byte, error) {
	o := jobJSON{
		ID: j.ID, Queue: j.Queue, State: j.State, EnqueuedAt: utc(j.EnqueuedAt), DueAt: utc(j.DueAt), StartedAt: utc(j.StartedAt),
		FinishedAt: utc(j.FinishedAt), LeaseEndsAt: utc(j.LeaseEndsAt),
	}
	if j.Known {
		o.fill(j)
	}
	return json.Marshal(o)
}

type jobJSON struct {
	ID              string            `json:"id"`
	Queue           string            `json:"queue"`
	Kind            *string           `json:"kind"`
	State           State             `json:"state"`
	Payload         *string           `json:"payload"`
	PayloadBase64   []byte            `json:"payload_base64"`
	Result          *string           `json:"result"`
	ResultBase64    []byte            `json:"result_base64"`
	Token           *string           `json:"token"`
	Worker          *string           `json:"worker"`
	Host            *string           `json:"host"`
	Reason          *string           `json:"reason"`
	Attempt         *int              `json:"attempt"`
	Failures        *int              `json:"failures"`
	Crashes         *int              `json:"crashes"`
	Snoozes         *int              `json:"snoozes"`
	MaxFailures     *int              `json:"max_failures"`
	Priority        *int              `json:"priority"`
	LIFO            *bool             `json:"lifo"`
	ResultDropped   *bool             `json:"result_dropped"`
	CancelRequested *bool             `json:"cancel_requested"`
	RetentionMS     *int64            `json:"retention_ms"`
	Headers         map[string]string `json:"headers"`
	Progress        *progressJSON     `json:"progress"`
	EnqueuedAt      *string           `json:"enqueued_at"`
	DueAt           *string           `json:"due_at"`
	StartedAt       *string           `json:"started_at"`
	FinishedAt      *string           `json:"finished_at"`
	LeaseEndsAt     *string           `json:"lease_ends_at"`
	Errors          []errorJSON       `json:"errors"`
	Version         *int              `json:"version"`
	BornAt          *string           `json:"born_at"`
	Scope           *string           `json:"scope"`
	Event           *string           `json:"event"`
	Replay          *string           `json:"replay"`
	Again           *bool             `json:"again"`
	// MaxFailuresGiven is false where the job itself names none: MaxFailures is then the default, and the worker's counts.
	MaxFailuresGiven *bool `json:"max_failures_given"`
}

type progressJSON struct {
	Percent int     `json:"percent"`
	Note    string  `json:"note"`
	At      *string `json:"at"`
}

type errorJSON struct {
	Attempt int     `json:"attempt"`
	At      *string `json:"at"`
	Type    string  `json:"type"`
	Message string  `json:"message"`
	Worker  *string `json:"worker"`
	Stack   *string `json:"stack"`
}

// fill sets what is there for every job but those that only the window knows.
func (o *jobJSON) fill(j JobInfo) {
	o.Kind, o.Attempt, o.Failures, o.Crashes, o.Snoozes = &j.Kind, &j.Attempt, &j.Failures, &j.Crashes, &j.Snoozes
	o.Priority, o.LIFO, o.ResultDropped, o.CancelRequested = &j.Priority, &j.LIFO, &j.ResultDropped, &j.CancelRequested
	retention := j.Retention.Milliseconds()
	o.RetentionMS = &retention
	given := j.MaxFailures != 0
	if o.MaxFailuresGiven = &given; !given {
		j.MaxFailures = DefaultMaxFailures
	}
	o.MaxFailures, o.Version, o.BornAt = &j.MaxFailures, &j.Version, utc(j.BornAt)
	scope := cmp.Or(j.Scope, j.Queue)
	o.Scope = &scope
	o.Event, o.Replay, o.Again = orNull(j.Event), orNull(j.Replay), &j.Again
	if o.Headers = j.Headers; o.Headers == nil {
		o.Headers = map[string]string{}
	}
	o.Token, o.Worker, o.Host, o.Reason = orNull(j.Token), orNull(j.Worker), orNull(j.Host), orNull(j.Reason)
	o.Errors = make([]errorJSON, 0, len(j.Errors))
	for _, e := range j.Errors {
		o.Errors = append(o.Errors, errorJSON{e.Attempt, utc(e.At), e.Type, e.Message, orNull(e.Worker), orNull(e.Stack)})
	}
	if p := j.Progress; p != nil {
		o.Progress = &progressJSON{p.Percent, p.Note, utc(p.At)}
	}
	o.Payload, o.PayloadBase64 = textOrBytes(j.Payload)
	if j.Result != nil {
		o.Result, o.ResultBase64 = textOrBytes(j.Result)
	}
}

// textOrBytes gives one of the two: text where the bytes are UTF-8.
func textOrBytes(b []byte) (*string, []byte) {
	if utf8.Valid(b) {
		s := string(b)
		return &s, nil
	}
	return nil, b
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// utc is the one form of a time in JSON: RFC 3339, UTC, milliseconds; null = none.
func utc(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	return &s
}
