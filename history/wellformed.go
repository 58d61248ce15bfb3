package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// windowNote marks a job's line in the account where only the settled window knows it.
const windowNote = "window"

// needs are the fields that the lines of an op can't be without.
var needs = map[Op][]string{
	OpRun:     nil,
	OpEnqueue: {"queue", "outcome", "done"},
	OpAttempt: {"queue", "job", "number", "done"},
	OpEnd:     {"queue", "job", "number", "outcome", "code", "done"},
	OpWait:    {"queue", "job", "outcome", "done"},
	OpRow:     {"queue", "job", "outcome", "done"},
	OpRequeue: {"queue", "job", "outcome", "done"},
	OpPromote: {"queue", "job", "outcome", "done"},
	OpCancel:  {"queue", "job", "outcome", "done"},
	OpDelete:  {"queue", "job", "outcome", "done"},
	OpSample:  {"queue"},
	OpFault:   {"code", "outcome", "done"},

	OpSubscription: {"queue"},
	OpJob:          {"queue", "job", "code"},
	OpEffect:       {"queue", "job"},
	OpLedger:       {"queue"},
	OpReceipt:      {"queue", "job"},
	OpQueue:        {"queue"},
	OpFinding:      {"code"},
	OpKeys:         nil,
}

// check tells whether a line has what its op needs.
func (e *Event) check() error {
	if e.Op == "" {
		return errors.New("op: it is missing")
	}
	fields, known := needs[e.Op]
	if !known {
		return fmt.Errorf("op: %q is none that is known", e.Op)
	}
	if e.Outcome != "" && !slices.Contains([]Outcome{OK, Fail, Unknown}, e.Outcome) {
		return fmt.Errorf("outcome: %q is not ok, fail or unknown", e.Outcome)
	}
	// A grade that is misspelt would allow a loss that the server does not.
	if e.Grade != "" && !slices.Contains([]string{"always", "everysec", "rdb", "none"}, e.Grade) {
		return fmt.Errorf("grade: %q is not always, everysec, rdb or none", e.Grade)
	}
	if e.Op == OpEnqueue && e.Job == "" && e.Outcome != Fail {
		return errors.New("job: it is missing")
	}
	for _, field := range fields {
		if e.lacks(field) {
			return fmt.Errorf("%s: it is missing", field)
		}
	}
	return nil
}

// decode reads a line. Its errors are for people who wrote the line in any language.
func (e *Event) decode(line []byte) error {
	err := json.Unmarshal(line, e)
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == nil:
		return e.check()
	case ok && wrong.Field != "":
		return fmt.Errorf("%s: want %s, have %s", wrong.Field, typeName(wrong.Type), wrong.Value)
	case ok:
		return fmt.Errorf("it is no JSON object: have %s", wrong.Value)
	}
	return fmt.Errorf("it is no JSON object, or was cut off: %w", err)
}

// typeName is the word for a field's type.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Map:
		return "an object"
	default:
		return "a whole number"
	}
}

// lacks tells whether a field is empty.
func (e *Event) lacks(field string) bool {
	switch field {
	case "queue":
		return e.Queue == ""
	case "job":
		return e.Job == ""
	case "outcome":
		return e.Outcome == ""
	case "code":
		return e.Code == ""
	case "number":
		return e.Number < 1
	}
	return e.Done < 1
}
