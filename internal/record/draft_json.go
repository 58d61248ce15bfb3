package record

import (
	"bytes"
	"encoding/json"
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

// parseWritten reads a draft that is a JSON object. Errors: ErrDamaged.
func parseWritten(raw []byte) (Draft, error) {
	if !utf8.Valid(raw) { // what is not would be replaced in a text without a word
		return Draft{}, fmt.Errorf("%w: it is not UTF-8", ErrDamaged)
	}
	var w written
	in := json.NewDecoder(bytes.NewReader(raw))
	in.DisallowUnknownFields() // a field that is spelled wrong would be lost without a word
	if err := in.Decode(&w); err != nil {
		return Draft{}, fmt.Errorf("%w: %s", ErrDamaged, strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := in.Token(); err != io.EOF { //nolint:errorlint // the decoder gives it as it is
		return Draft{}, fmt.Errorf("%w: something follows the object", ErrDamaged)
	}
	for field, ms := range map[string]int64{"delay_ms": w.DelayMS, "retention_ms": w.RetentionMS} {
		if most := MaxDelay.Milliseconds(); ms > most || ms < -most { // a time.Duration could not hold it
			return Draft{}, fmt.Errorf("%w: %s is %d: at most %d", ErrDamaged, field, ms, most)
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
		return Draft{}, fmt.Errorf("%w: on_full is %q: wait or spill", ErrDamaged, w.OnFull)
	case given && w.Bytes != nil:
		return Draft{}, fmt.Errorf("%w: payload and payload_base64 are both given", ErrDamaged)
	case given && payload[0] == '"': // a string is its text, all else is kept as it is spelled
		var text string
		if err := json.Unmarshal(payload, &text); err != nil {
			return Draft{}, fmt.Errorf("%w: payload: %w", ErrDamaged, err)
		}
		d.Job.Payload = []byte(text)
	case given:
		d.Job.Payload = payload
	}
	return d, nil
}
