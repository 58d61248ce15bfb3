package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// written is a draft as other languages write it: one JSON object, with the fields of a job as the command line reads them.
type written struct {
	Kind        string            `json:"kind"`
	Payload     json.RawMessage   `json:"payload"`
	Bytes       []byte            `json:"payload_base64"`
	DelayMS     int64             `json:"delay_ms"`
	At          *time.Time        `json:"at"`
	Priority    int               `json:"priority"`
	LIFO        bool              `json:"lifo"`
	MaxFailures int               `json:"max_failures"` // -1 = unlimited
	RetentionMS int64             `json:"retention_ms"`
	Version     int               `json:"version"`
	Headers     map[string]string `json:"headers"`
	OnFull      string            `json:"on_full"` // "spill", else "wait"
}

// parseWritten reads a draft that is a JSON object. Errors: ErrInvalid.
func parseWritten(raw []byte) (Draft, error) {
	if !utf8.Valid(raw) { // what is not would be replaced in a text without a word
		return Draft{}, bad("body", "is not UTF-8")
	}
	var w written
	in := json.NewDecoder(bytes.NewReader(raw))
	in.DisallowUnknownFields() // a field that is spelled wrong would be lost without a word
	if err := in.Decode(&w); err != nil {
		return Draft{}, bad("body", "%s", unreadable(err))
	}
	if _, err := in.Token(); err != io.EOF { //nolint:errorlint // the decoder gives it as it is
		return Draft{}, bad("body", "has something behind the JSON object")
	}
	for field, ms := range map[string]int64{"delay_ms": w.DelayMS, "retention_ms": w.RetentionMS} {
		if most := MaxDelay.Milliseconds(); ms > most || ms < -most { // a time.Duration could not hold it
			return Draft{}, bad(field, "is %d: at most %d", ms, most)
		}
	}
	d := Draft{Priority: w.Priority, LIFO: w.LIFO, Spill: w.OnFull == "spill", late: true, Job: Job{
		Kind: w.Kind, Payload: w.Bytes, Named: true, Delay: time.Duration(w.DelayMS) * time.Millisecond,
		Retention: time.Duration(w.RetentionMS) * time.Millisecond, MaxFailures: w.MaxFailures, Version: w.Version,
		Headers: w.Headers,
	}}
	if w.At != nil {
		d.Job.At = *w.At
	}
	payload := bytes.TrimSpace(w.Payload)
	given := len(payload) > 0 && string(payload) != "null"
	switch {
	case w.OnFull != "" && w.OnFull != "wait" && w.OnFull != "spill":
		return Draft{}, bad("on_full", "is %q: wait or spill", w.OnFull)
	case given && w.Bytes != nil:
		return Draft{}, bad("payload", "is given, and payload_base64 too: one of them")
	case given && payload[0] == '"': // a string is its text, all else is kept as it is spelled
		var text string
		if err := json.Unmarshal(payload, &text); err != nil {
			return Draft{}, bad("payload", "%s", unreadable(err))
		}
		d.Job.Payload = []byte(text)
	case given:
		d.Job.Payload = payload
	}
	return d, nil
}

// unreadable says in the words of JSON what is wrong with it.
func unreadable(err error) string {
	var kind *json.UnmarshalTypeError
	var at *time.ParseError
	switch {
	case errors.As(err, &kind):
		return fmt.Sprintf("has the field %s as a %s: it is of another type", kind.Field, kind.Value)
	case errors.As(err, &at):
		return fmt.Sprintf("has %s as a time: give RFC 3339, as 2026-01-31T12:00:00Z", at.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
