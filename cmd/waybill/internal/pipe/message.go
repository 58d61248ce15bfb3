package pipe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill"
)

// Types of messages. Lines of other types are logs.
const (
	typeReady    = "ready"
	typeProgress = "progress"
	typeSettle   = "settle"
)

// timeForm is RFC 3339 with milliseconds, as everywhere in JSON.
const timeForm = "2006-01-02T15:04:05.000Z07:00"

// job is the line that a child gets: the fields of a job's JSON, those that a worker can't know as null, and three more.
type job struct {
	Type            string            `json:"type"`
	ID              string            `json:"id"`
	Queue           string            `json:"queue"`
	Kind            string            `json:"kind"`
	State           string            `json:"state"`
	Payload         *string           `json:"payload"`
	PayloadBase64   []byte            `json:"payload_base64"`
	Result          *string           `json:"result"`
	ResultBase64    *string           `json:"result_base64"`
	Token           string            `json:"token"`
	Worker          *string           `json:"worker"`
	Host            *string           `json:"host"`
	Reason          *string           `json:"reason"`
	Attempt         int               `json:"attempt"`
	Failures        int               `json:"failures"`
	Crashes         int               `json:"crashes"`
	Snoozes         *int              `json:"snoozes"`
	MaxFailures     int               `json:"max_failures"` // -1: unlimited
	Priority        int               `json:"priority"`
	LIFO            *bool             `json:"lifo"`
	ResultDropped   *bool             `json:"result_dropped"`
	CancelRequested *bool             `json:"cancel_requested"`
	RetentionMS     *int64            `json:"retention_ms"`
	Headers         map[string]string `json:"headers"`
	Progress        *struct{}         `json:"progress"`
	EnqueuedAt      *string           `json:"enqueued_at"`
	DueAt           *string           `json:"due_at"`
	StartedAt       *string           `json:"started_at"`
	FinishedAt      *string           `json:"finished_at"`
	LeaseEndsAt     *string           `json:"lease_ends_at"`
	Errors          []struct{}        `json:"errors"`
	Version         int               `json:"version"`
	BornAt          *string           `json:"born_at"`
	Scope           string            `json:"scope"`
	MostGiven       *bool             `json:"max_failures_given"`
	Event           *string           `json:"event"`
	Replay          *string           `json:"replay"`
	Again           bool              `json:"again"`
	IdempotencyKey  string            `json:"idempotency_key"`
	DeadlineAt      *string           `json:"deadline_at"`
}

// jobLine is the line of an attempt, with its end.
func jobLine(a *waybill.Attempt, deadline time.Time) ([]byte, error) {
	j := job{
		Type: "job", ID: a.ID, Queue: a.Queue, Kind: a.Kind, State: string(waybill.StateActive), Token: a.Token,
		Attempt: a.Number, Failures: a.Failures, Crashes: a.Crashes, MaxFailures: a.MaxFailures, Priority: a.Priority, Version: a.Version,
		Headers: a.Headers, EnqueuedAt: timeText(a.EnqueuedAt), DueAt: timeText(a.DueAt), BornAt: timeText(a.BornAt), Scope: a.Scope,
		Event: orNull(a.Event), Replay: orNull(a.Replay), Again: a.Event != "" && a.EffectID() != a.Event, IdempotencyKey: a.IdempotencyKey(), DeadlineAt: timeText(deadline),
	}
	if utf8.Valid(a.Payload) {
		text := string(a.Payload)
		j.Payload = &text
	} else {
		j.PayloadBase64 = a.Payload
	}
	if j.Headers == nil {
		j.Headers = map[string]string{}
	}
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	err := e.Encode(j)
	return line.Bytes(), err
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func timeText(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(timeForm)
	return &s
}

// message is a line that a child writes.
type message struct {
	Type    string          `json:"type"`
	Token   string          `json:"token"`
	Percent float64         `json:"percent"` // languages give fractions where they divide
	Note    string          `json:"note"`
	Outcome string          `json:"outcome"`
	Result  json.RawMessage `json:"result"`
	Error   string          `json:"error"`
	DelayMS *float64        `json:"delay_ms"`
	// What became of the effects, of a child that keeps receipts of its own.
	Effects    float64 `json:"effects"`
	Suppressed float64 `json:"suppressed"`
	Mismatches float64 `json:"mismatches"`

	bad error // what is wrong with it
}

// parse reads a line. False: it is no message, so a log. token is that of the job that runs, "" = none: a settle that
// holds it and is no JSON (NaN is none) was meant for us, and the job would wait for it for ever.
func parse(line []byte, token string) (message, bool) {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff"))) // .NET begins its first line with that mark
	var m message
	behind := !bytes.HasPrefix(line, []byte("{"))
	if behind {
		line = tailWith(line, token)
	}
	err := json.Unmarshal(line, &m)
	if behind && err != nil {
		return m, false
	}
	var field *json.UnmarshalTypeError
	switch {
	case err == nil:
	case errors.As(err, &field): // the other fields were read
		m.bad = fmt.Errorf("%s: %s is a JSON %s: want %s", m.Type, field.Field, field.Value, field.Type)
	case token != "" && bytes.Contains(line, []byte(token)) && bytes.Contains(line, []byte(`"settle"`)):
		return message{Type: typeSettle, Token: token, bad: fmt.Errorf("settle is no JSON: %w", err)}, true
	default:
		return m, false
	}
	switch m.Type {
	case typeReady, typeProgress, typeSettle:
		return m, true
	}
	return m, false
}

// tailWith is the object at the end of a line that begins with other text, written without the end of a line: a settle
// that is taken for a log would be waited for in vain. nil: there is none with the token.
func tailWith(line []byte, token string) []byte {
	at := bytes.Index(line, []byte(token))
	if token == "" || at < 0 {
		return nil
	}
	begin := bytes.LastIndexByte(line[:at], '{')
	if begin < 0 {
		return nil
	}
	return line[begin:]
}

// percent is that of a progress, without a fraction. What is out of bounds stays so.
func (m message) percent() int { return int(min(max(m.Percent, -1), 101)) }

// result is what was given as it is spelled; nil = none.
func (m message) result() []byte {
	if string(m.Result) == "null" {
		return nil
	}
	return m.Result
}
