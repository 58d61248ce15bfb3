package store

import (
	"context"
	"errors"
)

// errNotSent says of jobs that those before them in the same request got no answer, so that none overtakes them.
var errNotSent = errors.New("not sent: those before got no answer")

// Send is Enqueue for jobs of the outbox, whose Job.Outbox it sets. Where a call gets no answer, those after it are not made:
// their jobs are told ErrUnavailable. The standing is that after the last call that was answered, without Unread; its Number
// is 0 where none was. Errors: ErrStranger, also of each job that so was not taken; what happened to a call beside that is
// told of each of its jobs.
func (o *Outbox) Send(ctx context.Context, number byte, jobs []Add, spill bool) ([]Enqueued, Standing, error) {
	out := make([]Enqueued, len(jobs))
	for i := range jobs {
		if jobs[i].Job.Outbox != number {
			jobs[i].Job.Outbox, jobs[i].blob = number, nil
		}
	}
	var s Standing
	var stop error
	if number == 0 { // the queue did not know it when it was asked
		stop = ErrStranger
	}
	split(len(jobs), func(i int) int { return jobs[i].Pack() }, func(from, to int) {
		if stop != nil {
			tellAll(out[from:to], stop)
			return
		}
		s, stop = o.send(ctx, s, batch{jobs[from:to], policy(spill) + " " + string(number) + " " + o.name, 5}, out[from:to])
	})
	if errors.Is(stop, ErrStranger) {
		return out, s, stop
	}
	return out, s, nil
}

// send makes one call. It gives how the outbox stands then, and why no more calls are to be made.
func (o *Outbox) send(ctx context.Context, s Standing, b batch, out []Enqueued) (Standing, error) {
	reply, err := o.q.enqueue(ctx, b, out)
	if err != nil {
		return s, &CallError{Verb: "enqueue", Queue: o.q.name, Kind: ErrUnavailable, Err: errNotSent}
	}
	if errors.Is(out[0].Err, ErrStranger) {
		return s, ErrStranger
	}
	now := Standing{Number: b.jobs[0].Job.Outbox, Sent: number(reply[3]), Told: number(reply[4]), Now: moment(reply[0])}
	now.Before = now.Sent - taken(reply[b.values:], len(b.jobs))
	switch {
	case s.Number == 0: // the first call
	case s.Before < 0 || now.Before < s.Sent:
		now.Before = -1
	default:
		now.Before = s.Before
	}
	return now, nil
}

// taken counts the jobs that a call added, as the script says it.
func taken(said []any, jobs int) (n int64) {
	for _, word := range said {
		if o := Outcome(text(word)); o == Accepted || o == Spilled {
			n++
		}
	}
	if len(said) == 1 {
		n *= int64(jobs) // one word for all
	}
	return n
}

func tellAll(out []Enqueued, err error) {
	for i := range out {
		out[i].Err = err
	}
}
