package matrix_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/test/fault/stage"
)

// jobs are those of one round.
const jobs = 3

// delay is that of every third job of a producer.
const delay = 100 * time.Millisecond

// reach is how long a process may take to come to its point.
const reach = time.Minute

func queueParts() []part {
	worker := append(append(steps("claim"), stage.Handed, stage.Returned), steps("settle")...)
	return []part{
		{stack: "queue", name: "producer", points: steps("enqueue"), round: produces(0), needs: []string{"I7"}},
		{stack: "queue", name: "producer in bulk", points: steps("enqueue"), round: produces(jobs), needs: []string{"I7"}},
		{stack: "queue", name: "waiter", points: steps("ends"), round: awaits, needs: []string{"I7", "I14"}},
		{stack: "queue", name: "worker", points: worker, round: works(stage.Orders{})},
		{stack: "queue", name: "renewal", points: steps("renew"), round: works(stage.Orders{Takes: 2 * stage.Lease / 3})},
		{stack: "queue", name: "progress", points: steps("progress"), round: works(stage.Orders{Progress: true})},
		{
			stack: "queue", name: "worker that stops", points: append(steps("settle"), stage.Stopping), last: "settle",
			round: stops,
		},
	}
}

func receiptPart(name string, give func(testing.TB) *sqltest.Database) part {
	points := append([]stage.Point{stage.Begun, stage.Entered, stage.Written, stage.Committing, stage.Committed}, steps("settle")...)
	return part{stack: "receipts " + name, name: "receipts on " + name, points: points, database: give, round: works(stage.Orders{})}
}

// fill enqueues the jobs of a round.
func (r round) fill() {
	r.Helper()
	r.forgive(r.name)
	kind := waybill.Define[int](stage.Kind, waybill.KindOptions{Queue: r.name, Retention: time.Hour})
	requests := make([]waybill.Request, jobs)
	for i := range requests {
		requests[i] = kind.Request(i, waybill.ID(fmt.Sprint("job-", i)))
	}
	_, err := r.Client.EnqueueMany(r.Context(), requests)
	r.Must(err)
}

// forgive lets jobs of a queue crash as often as they may: on a busy machine leases lapse by themselves.
func (r round) forgive(queue string) {
	r.Helper()
	unlimited := int64(waybill.Unlimited)
	r.Must(r.Client.Queue(queue).Set(r.Context(), waybill.QueueSettings{CrashAllowance: &unlimited}))
}

// completed fails the cell where not all jobs of a queue have ended well.
func (r round) completed(queue string, want int64) {
	r.Helper()
	st, err := r.Client.Queue(queue).Stats(r.Context())
	r.Must(err)
	if st.Completed != want {
		r.Errorf("%d jobs of %s completed, want %d", st.Completed, queue, want)
	}
}

// moved tells whether work was taken back from whom had it, or all is done.
func (r round) moved() bool {
	st, err := r.Client.Queue(r.name).Stats(r.Context())
	return err == nil && (st.Crashes > 0 || st.Live() == 0)
}

// reached waits until a process has come to the cell's point, and tells whether work was in flight there.
func (r round) reached(p *stage.Process, inFlight func() bool) bool {
	r.Helper()
	if !p.Reached(r.Stage, reach) {
		r.Fatalf("%s never came to: %s", p.Orders.Name, r.point)
	}
	return inFlight()
}

func (r round) live() bool { return r.Live(r.name) > 0 }

// works puts a worker under fault, while another one is there.
func works(o stage.Orders) func(round) {
	return func(r round) {
		r.Helper()
		r.fill()
		o := o
		o.Role, o.Queue, o.Stop, o.Jobs = stage.Work, r.name, r.point, 2
		r.under(r.Spawn(o))
	}
}

// under plays the fault to a worker, and lets another one do the rest.
func (r round) under(p *stage.Process) {
	r.Helper()
	flying := r.reached(p, r.live)
	other := r.Spawn(stage.Orders{Role: stage.Work, Queue: r.name})
	fired := r.Play(p, r.fault, r.moved)
	r.Idle(r.name)
	r.completed(r.name, jobs)
	r.Tell(r.point, r.fault, fired() && flying)
	r.end(p, other)
}

// end ends processes. One that was to stop at a point and is alive lives on until its standard input ends.
func (r round) end(all ...*stage.Process) {
	r.Helper()
	for _, p := range all {
		if err := p.Stop(); err != nil && !p.Killed() {
			r.Error(err)
		}
	}
}

// stops puts a worker under fault that was told to stop while its handlers run.
func stops(r round) {
	r.Helper()
	r.fill()
	p := r.Spawn(stage.Orders{Role: stage.Work, Queue: r.name, Stop: r.point, Jobs: 2, Takes: time.Minute})
	r.Until("the jobs run", func() bool {
		st, err := r.Client.Queue(r.name).Stats(r.Context())
		return err == nil && st.Active == 2
	})
	p.Term()
	r.under(p)
}

// produces puts a producer under fault. One that was killed is followed by another that sends the same.
func produces(batch int) func(round) {
	return func(r round) {
		r.Helper()
		r.forgive(r.name)
		o := stage.Orders{Role: stage.Produce, Queue: r.name, Jobs: 2 * jobs, Batch: batch, Delay: delay} // in bulk: two calls, for one may be answered
		stopping := o
		stopping.Stop = r.point
		p := r.Spawn(stopping)
		flying := r.reached(p, func() bool { return !p.HasEnded() })
		successor := r.Spawn(o)
		fired := r.Play(p, r.fault, successor.HasEnded)
		r.Until("all is sent", func() bool { return successor.HasEnded() && (r.fault == stage.Killed || p.HasEnded()) })
		worker := r.Spawn(stage.Orders{Role: stage.Work, Queue: r.name})
		r.Idle(r.name)
		r.completed(r.name, 2*jobs)
		r.Tell(r.point, r.fault, fired() && flying)
		r.end(p, successor, worker)
	}
}

// awaits puts one that waits for its job under fault.
func awaits(r round) {
	r.Helper()
	r.forgive(r.name)
	p := r.Spawn(stage.Orders{Role: stage.Await, Queue: r.name, Jobs: jobs, Stop: r.point})
	flying := r.reached(p, r.live)
	worker := r.Spawn(stage.Orders{Role: stage.Work, Queue: r.name})
	fired := r.Play(p, r.fault, func() bool { return r.Live(r.name) == 0 })
	if r.fault == stage.Killed {
		next := r.Spawn(stage.Orders{Role: stage.Await, Queue: r.name, Jobs: jobs})
		r.Until("all waits have ended", next.HasEnded)
		r.end(next)
	} else {
		r.Until("all waits have ended", p.HasEnded)
	}
	r.Idle(r.name)
	r.completed(r.name, jobs)
	r.Tell(r.point, r.fault, fired() && flying)
	r.end(p, worker)
}
