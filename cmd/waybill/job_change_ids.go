package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/waybillhq/waybill"
)

// changed is the object of a job that was to be changed.
type changed struct {
	ID      string  `json:"id"`
	Queue   string  `json:"queue"`
	Outcome *string `json:"outcome"` // what was done; null = nothing
	Error   *string `json:"error"`
	Message *string `json:"message"`
}

// requested is the outcome of a cancel of a job that runs: it is asked for.
const requested = "requested"

// changeEach changes jobs by ID, one after the other, and answers each. It ends with the worst status.
func (a *app) changeEach(ctx context.Context, q *waybill.Queue, c change, ids []string) error {
	if err := checkIDs(ids); err != nil {
		return err
	}
	t := newTally()
	for i, id := range ids {
		err := c.one(ctx, q, c.changeFlags, id)
		if errors.Is(err, waybill.ErrState) {
			err = c.explain(ctx, q, id, err)
		}
		t.raise(err)
		o := changed{ID: id, Queue: c.queue}
		if failed := a.printChanged(o, c.outcome(ctx, q, id, err), err); failed != nil {
			return failed
		}
		if left := len(ids) - i - 1; left > 0 && (ctx.Err() != nil || errors.Is(err, waybill.ErrUnavailable)) {
			a.say("%s not tried", count(left, "further ID"))
			return t.err()
		}
	}
	return t.err()
}

// explain says which state forbade it.
func (c change) explain(ctx context.Context, q *waybill.Queue, id string, refused error) error {
	j, err := q.Get(ctx, id)
	if err != nil || slices.Contains(c.applies, j.State) { // it is another one by now
		return refused
	}
	return fmt.Errorf("%w: it is %s, and %s is for jobs that are %s", refused, j.State, c.name, alternatives(c.applies))
}

// alternatives names states: "dead", "scheduled or retry".
func alternatives(states []waybill.State) string {
	words := make([]string, len(states))
	for i, s := range states {
		words[i] = string(s)
	}
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " or " + words[last]
	}
	return words[0]
}

// outcome tells what was done. A cancel of a job that runs is only asked for: it may have completed since. One that was
// cancelled stays readable for an hour, and so does its state.
func (c change) outcome(ctx context.Context, q *waybill.Queue, id string, err error) string {
	if err == nil && c.name == "cancel" {
		if j, err := q.Get(ctx, id); err != nil || j.State != waybill.StateCancelled {
			return requested
		}
	}
	return c.done
}

func (a *app) printChanged(o changed, outcome string, err error) error {
	if err == nil {
		o.Outcome = &outcome
	} else {
		o.Error, o.Message = wordsOf(err)
		a.say("%s", *o.Message)
	}
	switch {
	case a.json:
		return printJSON(a.stdout, o)
	case err == nil && outcome == requested:
		_, err = fmt.Fprintf(a.stdout, "%s cancel requested\n", o.ID)
	case err == nil:
		_, err = fmt.Fprintf(a.stdout, "%s %s\n", o.ID, outcome)
	default:
		return nil
	}
	return err
}
