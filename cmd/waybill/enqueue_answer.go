package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

// answer is the object of one job that was sent.
type answer struct {
	ID       string          `json:"id"`
	Queue    string          `json:"queue"`
	Kind     string          `json:"kind"`
	Outcome  waybill.Outcome `json:"outcome"`
	Line     *int64          `json:"line"`
	Depth    *int64          `json:"depth"`
	Capacity *int64          `json:"capacity"`
	Error    *string         `json:"error"`
	Message  *string         `json:"message"`
}

// answerTo tells what became of a job; line 0 = it was not one of many.
func answerTo(kind string, e waybill.Enqueued, line int64) answer {
	out := answer{ID: e.ID, Queue: e.Queue, Kind: kind, Outcome: e.Outcome}
	if line > 0 {
		out.Line = &line
	}
	if full, ok := errors.AsType[*waybill.FullError](e.Err); ok {
		out.Depth, out.Capacity = &full.Depth, &full.Capacity
	}
	if e.Err != nil {
		out.Error, out.Message = wordsOf(e.Err)
	}
	return out
}

// eventAnswer is the object of one event that was published: that of a job, with the topic in the queue's place.
type eventAnswer struct {
	ID       string          `json:"id"`
	Topic    string          `json:"topic"`
	Kind     string          `json:"kind"`
	Outcome  waybill.Outcome `json:"outcome"`
	Line     *int64          `json:"line"`
	Depth    *int64          `json:"depth"`
	Capacity *int64          `json:"capacity"`
	Error    *string         `json:"error"`
	Message  *string         `json:"message"`
}

// object is the object to print: that of a job, or of an event.
func (a answer) object() any {
	if topic, ok := store.TopicOf(a.Queue); ok {
		return eventAnswer{a.ID, topic, a.Kind, a.Outcome, a.Line, a.Depth, a.Capacity, a.Error, a.Message}
	}
	return a
}

// printThere prints the ID where the job is there or may be there.
func printThere(w io.Writer, e waybill.Enqueued) error {
	if !e.Outcome.Taken() && e.Outcome != waybill.OutcomeUnknown {
		return nil
	}
	_, err := fmt.Fprintln(w, e.ID)
	return err
}

// printID answers people: the ID, and what became of the job.
func (a *app) printID(e waybill.Enqueued, err error) error {
	if err := printThere(a.stdout, e); err != nil {
		return err
	}
	if note := noteOn(e); note != "" {
		a.say("%s: %s", e.Outcome, note)
	}
	return err
}

// noteOn says what became of a job or event that was taken, where it is not the plain case.
func noteOn(e waybill.Enqueued) string {
	if _, ok := store.TopicOf(e.Queue); ok && e.Outcome == waybill.OutcomeDuplicate {
		return "the event is known, nothing was added"
	}
	return notes[e.Outcome]
}

// notes say what became of a job that was taken, where it is not the plain case.
var notes = map[waybill.Outcome]string{
	waybill.OutcomeDuplicate: "the job is known, nothing was added",
	waybill.OutcomeWaited:    "accepted after waiting for room",
	waybill.OutcomeSpilled:   "accepted and kept aside until there is room",
}
