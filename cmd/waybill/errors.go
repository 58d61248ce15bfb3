package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/internal/database"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/receipt"
)

// Exit statuses.
const (
	exitOther       = 1
	exitInvalid     = 2
	exitFull        = 3
	exitState       = 4
	exitUnavailable = 5
	exitEnded       = 6
	exitUnknown     = 7
	exitWaitOver    = 8
	exitNotFound    = 9
)

const statusText = `  0  accepted, duplicate, waited or spilled; done
  1  anything else
  2  bad usage or bad input: nothing was sent; of many lines, not those
  3  rejected: the queue or topic is full
  4  conflict, or the state of job or topic forbids it (no subscription)
  5  Redis or the database is unavailable, out of memory or does not permit it: nothing happened
  6  with a wait: the job ended dead, cancelled or deleted
  7  outcome unknown: the ID is printed, ask again with it
  8  the time to wait is over
  9  not found`

// badness orders the statuses of many items, the worst first: the program ends with the worst.
var badness = []int{exitUnknown, exitUnavailable, exitState, exitInvalid, exitFull, exitWaitOver, exitEnded, exitNotFound, exitOther, 0}

// meaning is how a call that failed is told.
type meaning struct {
	is     error
	status int
	word   string
	hint   func(error) string // what to do
}

// meanings is the one table from errors to statuses, words and hints; the first that fits.
var meanings = []meaning{
	{errWaitOver, exitWaitOver, "timeout", waitOverHint},
	{errDrainOver, exitWaitOver, "timeout", fixed("it goes on; the same command waits again")},
	{errLeft, exitWaitOver, "timeout", fixed("the same command goes on")},
	{waybill.ErrUnknown, exitUnknown, "unknown", unknownHint},
	{waybill.ErrUnavailable, exitUnavailable, "unavailable", unavailableHint},
	{waybill.ErrInvalid, exitInvalid, "invalid", nil},
	{waybill.ErrFull, exitFull, "full", fullHint},
	{waybill.ErrNoSubscription, exitState, "no_subscription", fixed("topic subscribe TOPIC/NAME, or topic set TOPIC --capacity N")},
	{waybill.ErrConflict, exitState, "conflict", fixed("give this work an ID of its own")},
	{waybill.ErrNewer, exitState, "newer", fixed("update waybill here")},
	{waybill.ErrState, exitState, "state", nil},
	{waybill.ErrDead, exitEnded, "dead", nil},
	{waybill.ErrDeleted, exitEnded, "deleted", nil},
	{waybill.ErrCancelled, exitEnded, "cancelled", nil},
	{waybill.ErrNoWorker, exitNotFound, "not_found", fixed("worker list shows those that are there")},
	{waybill.ErrNotFound, exitNotFound, "not_found", fixed("it never was, or retention and window are over")},
	{receipt.ErrNoTable, exitOther, "no_tables", nil},
	{outbox.ErrNoTable, exitOther, "no_tables", nil},
	{outbox.ErrLost, exitState, "lost", nil},
	{outbox.ErrRetry, exitUnavailable, "unavailable", fixed("give the same command again")},
	{outbox.ErrNotFound, exitNotFound, "not_found", fixed("it was never committed, or is purged or discarded")},
	{errNoRow, exitNotFound, "not_found", fixed("outbox list shows those that were set aside")},
	{errNoBox, exitNotFound, "not_found", fixed("outbox forget without a name lists those that it knows")},
	{errInUse, exitState, "state", fixed("--force takes it all the same; then redis counts as having lost its data")},
	{receipt.ErrAnswered, exitState, "state", fixed("receipts show tells it")},
	{receipt.ErrUnderWay, exitState, "state", fixed("look and say it again when the call's timeout is over")},
	{receipt.ErrApplied, exitState, "state", fixed("job requeue is enough")},
	{errApplied, exitState, "state", fixed("job requeue is enough")},
	{receipt.ErrNotFound, exitNotFound, "not_found", fixed("receipts show QUEUE ID shows those of a job")},
	{errNoEffect, exitNotFound, "not_found", nil},
	{errNoSubscription, exitNotFound, "not_found", noSubscriptionHint},
	{errNoTopic, exitNotFound, "not_found", fixed("topic list shows those that are there")},
	{errEventsLeft, exitState, "state", nil},
	{database.ErrURL, exitInvalid, "invalid", nil},
	{database.ErrConnect, exitUnavailable, "unavailable", databaseHint},
	{history.ErrUnreadable, exitInvalid, "invalid", nil},
	{errInterrupted, exitOther, "interrupted", nil},
	{errDeclined, exitOther, "declined", nil},
}

// errInterrupted: the user ended the program before its end.
var errInterrupted = errors.New("interrupted")

// broken tells whether a call ended since the user interrupted the program, and Redis had no part in it.
func broken(err error) bool {
	return errors.Is(err, waybill.ErrUnavailable) && errors.Is(err, context.Canceled)
}

// meaningOf finds the row of an error.
func meaningOf(err error) meaning {
	if broken(err) {
		err = errInterrupted
	}
	for _, m := range meanings {
		if errors.Is(err, m.is) {
			return m
		}
	}
	return meaning{status: exitOther, word: "other"}
}

// message tells an error in one line: what happened, and what to do.
func message(err error) string {
	if broken(err) {
		err = errInterrupted
	}
	text := oneLine(err.Error())
	if hint := meaningOf(err).hint; hint != nil {
		text += ": " + hint(err)
	}
	return text
}

// oneLine is a text in one line, safe for a terminal.
func oneLine(text string) string { return visible(strings.Join(strings.Fields(text), " "), "") }

func fixed(hint string) func(error) string { return func(error) string { return hint } }

// unknownHint: an enqueue is asked for again by its ID, any other change by the same command.
func unknownHint(err error) string {
	if strings.Contains(err.Error(), scriptRights) {
		return rightsHint
	}
	if call, ok := errors.AsType[*store.CallError](err); ok && call.Verb != "enqueue" && call.Verb != "publish" {
		return "give the same command again, it does nothing twice"
	}
	return "ask again with the same ID, it adds nothing twice"
}

func fullHint(err error) string {
	if full, ok := errors.AsType[*waybill.FullError](err); ok {
		if topic, ok := store.TopicOf(full.Queue); ok {
			return fmt.Sprintf("topic stats %s tells who holds its events; retry later, or topic set %s --capacity N", topic, topic)
		}
		return fmt.Sprintf("retry later, or queue set %s --capacity N", full.Queue)
	}
	return "retry later, or raise its capacity by queue set"
}

// scriptRights is what Redis says where a script does what its user may not.
const scriptRights = "The user executing the script can't"

const rightsHint = "give this Redis user the rights it needs"

func unavailableHint(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "OOM"):
		return "work off or delete jobs, or give Redis more memory (maxmemory)"
	case strings.Contains(text, "NOPERM"), strings.Contains(text, scriptRights):
		return rightsHint
	case strings.Contains(text, "NOAUTH"), strings.Contains(text, "WRONGPASS"), strings.Contains(text, "unauthenticated"):
		return "check user and password in the Redis URL"
	case strings.Contains(text, "dial"):
		return "start Redis (waybill dev), or name another by --redis or WAYBILL_REDIS"
	}
	return "try again"
}

// databaseHint reads the codes of PostgreSQL, MariaDB and SQLite: a database that answers need not be started.
func databaseHint(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "SQLSTATE 28"), strings.Contains(text, "Error 1045"):
		return "check user and password in its URL"
	case strings.Contains(text, "SQLSTATE 3D000"), strings.Contains(text, "Error 1049"), strings.Contains(text, "Error 1044"):
		return "check the name of the database in its URL"
	case strings.Contains(text, "unable to open database file"):
		return "check the path in its URL; waybill migrate makes the file"
	}
	return "start the database, or name another by --database or WAYBILL_DATABASE"
}

// usageError is bad usage of the program.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// Unwrap gives it the status of bad input.
func (e *usageError) Unwrap() error { return waybill.ErrInvalid }

func usage(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...) + " (see " + cmd.CommandPath() + " --help)"}
}

// answered is an error that stands in a JSON object that was printed already.
type answered struct{ error }

func (e answered) Unwrap() error { return e.error }

// told is a status whose reasons were all told.
type told int

func (t told) Error() string { return fmt.Sprintf("exit status %d", int(t)) }

// end tells how the program ended, and gives its exit status.
func (a *app) end(err error) int {
	if err == nil {
		return 0
	}
	if t, ok := errors.AsType[told](err); ok {
		return int(t)
	}
	m, text := meaningOf(err), message(err)
	if _, done := errors.AsType[answered](err); a.json && !done {
		_ = printJSON(a.stdout, failure{m.word, text})
	}
	a.say("%s", text)
	return m.status
}

// failure is the object of a call that failed.
type failure struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}

// wordsOf are the fields error and message of an object.
func wordsOf(err error) (word, text *string) {
	w, t := meaningOf(err).word, message(err)
	return &w, &t
}

// object prints the object of a call, and gives the error that stands in it.
func (a *app) object(v any, err error) error {
	if failed := printJSON(a.stdout, v); failed != nil || err == nil {
		return failed
	}
	return answered{err}
}

// printJSON prints one object on a line of its own.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
