package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/waybillhq/waybill"
)

// atOnce is how many jobs are looked up at a time.
const atOnce = 16

// Account writes how all stands in the end: of each queue and subscription that the history names, each job, the counters,
// and what an audit finds. It reads the history, such as the file that the recorder appends to, to know what to ask for:
// jobs that left nothing but an entry in the settled window are found by their IDs alone.
//
// Call it once all has come to rest. Errors: ErrUnreadable, waybill.ErrUnavailable, and those of writing.
func (r *Recorder) Account(ctx context.Context, c *waybill.Client, history io.Reader) error {
	a := accountant{r: r, c: c, queues: map[string]map[string]bool{}}
	if err := a.read(history); err != nil {
		return err
	}
	for _, queue := range slices.Sorted(maps.Keys(a.queues)) {
		if err := a.queue(ctx, queue, a.queues[queue]); err != nil {
			return fmt.Errorf("account of %s: %w", queue, err)
		}
	}
	return r.Err()
}

// accountant writes one account.
type accountant struct {
	r      *Recorder
	c      *waybill.Client
	queues map[string]map[string]bool // queue -> IDs of jobs
}

// read learns which queues and jobs there are.
func (a *accountant) read(history io.Reader) error {
	events, subscriptions := map[string]map[string]bool{}, map[string]bool{}
	err := scan(history, func(_ int64, e Event) {
		topic, event := strings.CutPrefix(e.Queue, eventPrefix)
		switch {
		case e.Queue == "" || e.Op == OpEffect || e.Op == OpReceipt:
		case event:
			enter(events, topic, e.Job)
		default:
			enter(a.queues, e.Queue, e.Job)
			if strings.Contains(e.Queue, "/") {
				subscriptions[e.Queue] = true
			}
		}
	})
	for s := range subscriptions {
		topic, _, _ := strings.Cut(s, "/")
		maps.Copy(a.queues[s], events[topic])
	}
	return err
}

func enter(queues map[string]map[string]bool, queue, job string) {
	if queues[queue] == nil {
		queues[queue] = map[string]bool{}
	}
	if job != "" {
		queues[queue][job] = true
	}
}

// queue writes the account of one queue. Of the IDs those are taken away that were met.
func (a *accountant) queue(ctx context.Context, name string, ids map[string]bool) error {
	q := a.c.Queue(name)
	for j, err := range q.Jobs(ctx, waybill.Filter{}) {
		if j.ID == "" {
			return err
		}
		delete(ids, j.ID)
		a.job(j, err)
	}
	if err := a.lookUp(ctx, q, ids); err != nil {
		return err
	}
	if err := a.stats(ctx, q, name); err != nil {
		return err
	}
	return q.Audit(ctx, false, func(f waybill.Finding) {
		a.r.Write(Event{Op: OpFinding, Queue: name, Job: f.Item, Code: f.What})
	}, nil)
}

// job writes how a job stands. An error is of its record.
func (a *accountant) job(j waybill.JobInfo, err error) {
	if err != nil {
		a.r.Write(Event{Op: OpFinding, Queue: j.Queue, Job: j.ID, Code: "a record that can't be read", Note: err.Error()})
	}
	e := Event{
		Op: OpJob, Queue: j.Queue, Job: j.ID, Code: string(j.State), Token: j.Token, Number: j.Attempt,
		Failures: j.Failures, Crashes: j.Crashes, Snoozes: j.Snoozes, Event: j.Event,
	}
	switch {
	case err != nil:
		e.Code, e.Note = "unreadable", windowNote
	case !j.Known:
		e.Note = windowNote
	}
	a.r.Write(e)
}

// lookUp asks for jobs that are in no list.
func (a *accountant) lookUp(ctx context.Context, q *waybill.Queue, ids map[string]bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan string)
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for id := range next {
				if err := a.ask(ctx, q, id); err != nil {
					cancel(err)
				}
			}
		})
	}
	for id := range ids {
		if ctx.Err() != nil {
			break
		}
		next <- id
	}
	close(next)
	all.Wait()
	return context.Cause(ctx)
}

// ask writes how a job stands, if anything is known of it.
func (a *accountant) ask(ctx context.Context, q *waybill.Queue, id string) error {
	j, err := q.Get(ctx, id)
	switch {
	case errors.Is(err, waybill.ErrNotFound):
		return nil
	case err != nil:
		return err // it names the job
	}
	a.job(j, nil)
	return nil
}

func (a *accountant) stats(ctx context.Context, q *waybill.Queue, name string) error {
	s, err := q.Stats(ctx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("counters: %w", err)
	}
	e := Event{Op: OpQueue, Queue: name}
	if err := json.Unmarshal(text, &e.Stats); err != nil {
		return fmt.Errorf("counters: %w", err)
	}
	a.r.Write(e)
	return nil
}
