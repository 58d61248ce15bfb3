package history

import (
	"errors"
	"fmt"
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
	fields, known := needs[e.Op]
	if !known {
		return fmt.Errorf("op: %q is none that is known", e.Op)
	}
	if e.Outcome != "" && !slices.Contains([]Outcome{OK, Fail, Unknown}, e.Outcome) {
		return fmt.Errorf("outcome: %q is not ok, fail or unknown", e.Outcome)
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
