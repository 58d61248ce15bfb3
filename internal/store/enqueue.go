package store

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/record"
)

// Add is one job to enqueue. It has been checked.
type Add struct {
	ID       string
	Priority int
	LIFO     bool
	Job      record.Job
	Back     *Back // the job is brought back as it was exported; nil = it is new

	blob    []byte // what is stored, once packed
	brought string // likewise what Back says
}

// Pack makes the bytes that are stored, so that payload and headers may change afterwards, and gives their length.
func (a *Add) Pack() int {
	if a.blob == nil {
		a.blob = a.Job.Blob()
		if a.Back != nil {
			a.brought = a.Back.text()
		}
	}
	return len(a.blob) + len(a.brought)
}

// Enqueued is what became of one job: its outcome, or an error where there was no answer.
type Enqueued struct {
	Outcome Outcome
	Depth   int64 // live jobs when the queue was found full
	// Capacity of the queue; -1 where it has none.
	Capacity int64
	Err      error // wraps ErrUnavailable, ErrUnknown or ErrNewer; of Outbox.Send also ErrStranger
}

// Outcome is the word in which the enqueue script answers.
type Outcome string

// Outcomes of an enqueue.
const (
	Accepted  Outcome = "accepted"
	Spilled   Outcome = "spilled"
	Duplicate Outcome = "duplicate"
	Conflict  Outcome = "conflict"
	Full      Outcome = "full"
	Nobody    Outcome = "nobody" // of an event: the topic has no subscription, and nothing bounds its stream
)

// Enqueue adds jobs, each once, in order. It always returns one answer a job.
func (q *Queue) Enqueue(ctx context.Context, jobs []Add, spill bool) []Enqueued {
	out := make([]Enqueued, len(jobs))
	split(len(jobs), func(i int) int { return jobs[i].Pack() }, func(from, to int) {
		_, _ = q.enqueue(ctx, batch{jobs[from:to], policy(spill), 3}, out[from:to])
	})
	return out
}

// A batch is what one call of the enqueue script brings.
type batch struct {
	jobs   []Add
	policy string // as the script takes it
	values int    // of the reply, before the words
}

// policy is what the script is to do where the queue is full.
func policy(spill bool) string {
	if spill {
		return "spill"
	}
	return "reject"
}

// enqueue makes one call. It tells what became of each job, and gives the reply, or why there is none.
func (q *Queue) enqueue(ctx context.Context, b batch, out []Enqueued) (reply []any, err error) {
	jobs := b.jobs
	args := make([]any, 1, 1+4*len(jobs))
	args[0] = b.policy
	verb := "enqueue"
	if q.topic {
		verb = "publish"
	}
	for i := range jobs {
		j := &jobs[i]
		third := delay(j)
		if q.topic {
			third = len(j.blob) - len(j.Job.Payload)
		}
		args = append(args, j.ID, order(j), third, j.blob)
	}
	reply, unsure, err := q.call(ctx, verb, args...)
	var said []string
	if err == nil {
		said, err = words(reply, b.values, len(jobs))
	}
	for i := range out {
		if err != nil {
			out[i].Err = err
			continue
		}
		out[i] = answer(said[i], reply)
		if unsure && out[i].Outcome == Full { // an earlier try may have taken the last place
			out[i].Err = &CallError{Verb: verb, Queue: q.name, Kind: ErrUnknown, Err: errThenFull}
		}
		if unsure && out[i].Outcome == Duplicate && !jobs[i].Job.Named {
			out[i].Outcome = Accepted // by an earlier try of this call: nobody else has this ID
		}
	}
	return reply, err
}

// errThenFull says what came after a reply that was lost.
var errThenFull = errors.New("a reply was lost, and then the queue was full")

func answer(word string, reply []any) Enqueued {
	switch word {
	case "newer":
		return Enqueued{Err: ErrNewer}
	case stranger:
		return Enqueued{Err: ErrStranger}
	}
	e := Enqueued{Outcome: Outcome(word), Depth: number(reply[1]), Capacity: -1}
	if c := text(reply[2]); c != "" {
		e.Capacity = number(c)
	}
	return e
}

// order and delay give constants for most jobs: an argument made for each would be memory for each.
func order(j *Add) any {
	if j.Priority == 0 && !j.LIFO {
		return record.PlainOrder
	}
	return record.Order(j.Priority, j.LIFO)
}

func delay(a *Add) any {
	j := &a.Job
	switch {
	case a.Back != nil:
		return a.brought
	case !j.At.IsZero():
		return "@" + strconv.FormatInt(j.At.UnixMilli(), 10)
	case j.Delay == 0:
		return "0"
	}
	return milliseconds(j.Delay)
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// split calls do for runs of items that keep within the bounds of one call.
func split(n int, size func(int) int, do func(from, to int)) {
	from, bytes := 0, 0
	for i := range n {
		s := size(i)
		if i > from && (i-from == maxItems || bytes+s > maxBytes) {
			do(from, i)
			from, bytes = i, 0
		}
		bytes += s
	}
	if from < n {
		do(from, n)
	}
}
