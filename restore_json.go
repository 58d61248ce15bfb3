package waybill

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// UnmarshalJSON reads what MarshalJSON gives.
func (j *JobInfo) UnmarshalJSON(b []byte) error {
	var o jobJSON
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	*j = JobInfo{ID: o.ID, Queue: o.Queue, State: o.State, Known: o.Kind != nil}
	times := map[*time.Time]*string{
		&j.EnqueuedAt: o.EnqueuedAt, &j.DueAt: o.DueAt, &j.StartedAt: o.StartedAt, &j.FinishedAt: o.FinishedAt,
		&j.LeaseEndsAt: o.LeaseEndsAt, &j.BornAt: o.BornAt,
	}
	for to, text := range times {
		if err := parseUTC(to, text); err != nil {
			return err
		}
	}
	if !j.Known {
		return nil
	}
	return o.into(j)
}

// into gives the job what is there for every job but those that only the window knows.
func (o *jobJSON) into(j *JobInfo) error {
	j.Kind, j.Payload, j.Result = *o.Kind, bytesOf(o.Payload, o.PayloadBase64), bytesOf(o.Result, o.ResultBase64)
	if j.Payload == nil {
		return errors.New("payload and payload_base64 are missing")
	}
	j.Attempt, j.Failures, j.Crashes, j.Snoozes = or(o.Attempt), or(o.Failures), or(o.Crashes), or(o.Snoozes)
	j.Priority, j.LIFO, j.MaxFailures, j.Version = or(o.Priority), or(o.LIFO), or(o.MaxFailures), or(o.Version)
	if o.MaxFailuresGiven != nil && !*o.MaxFailuresGiven {
		j.MaxFailures = 0
	}
	j.ResultDropped, j.CancelRequested = or(o.ResultDropped), or(o.CancelRequested)
	j.Retention = time.Duration(or(o.RetentionMS)) * time.Millisecond
	j.Token, j.Worker, j.Reason, j.Headers, j.Scope = or(o.Token), or(o.Worker), or(o.Reason), o.Headers, or(o.Scope)
	j.Event, j.Replay, j.Again = or(o.Event), or(o.Replay), or(o.Again)
	for _, e := range o.Errors {
		x := JobError{Attempt: e.Attempt, Type: e.Type, Message: e.Message, Worker: or(e.Worker), Stack: or(e.Stack)}
		if err := parseUTC(&x.At, e.At); err != nil {
			return err
		}
		j.Errors = append(j.Errors, x)
	}
	if p := o.Progress; p != nil {
		j.Progress = &Progress{Percent: p.Percent, Note: p.Note}
		return parseUTC(&j.Progress.At, p.At)
	}
	return nil
}

func parseUTC(to *time.Time, text *string) (err error) {
	if text == nil {
		return nil
	}
	if *to, err = time.Parse(time.RFC3339, *text); err != nil {
		return fmt.Errorf("time %q: %w", *text, err)
	}
	return nil
}

func bytesOf(text *string, raw []byte) []byte {
	if text != nil {
		return []byte(*text)
	}
	return raw
}

func or[T any](v *T) (out T) {
	if v != nil {
		out = *v
	}
	return out
}
