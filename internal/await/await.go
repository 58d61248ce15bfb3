// Package await waits for jobs to end. It subscribes, looks, waits for a notice and looks again; and since any
// notice may be lost, it also looks by a timer. What a look finds is the answer, never what a notice says.
package await

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/store"
)

const (
	// look is how often a job is looked at without any notice; perSecond bounds the looks of a queue, so with
	// many waits each job is looked at less often.
	look      = time.Second
	perSecond = 2000
	// lookMost jobs go into one call.
	lookMost = 100
	// linger is how long notices are still heard when nobody waits any more.
	linger = 10 * time.Second
)

// ErrClosed says that the wait was ended by Close.
var ErrClosed = errors.New("client closed")

// Queue is what waiting needs of a store.Queue.
type Queue interface {
	Ends(ctx context.Context, ids []string) ([]store.JobEnd, error)
	Follow(c store.Channel, hear func(line string)) (stop func())
}

// Waits are all waits of a process for the jobs of one queue. Make it with New. Safe for concurrent use.
type Waits struct {
	q     Queue
	looks *batch.Batcher[string]
	ctx   context.Context // of the looks, until Close
	stop  context.CancelFunc

	mu     sync.Mutex
	jobs   map[string]*job // that are waited for
	closed bool
	end    context.CancelFunc // nil while nothing runs
	ended  chan struct{}
	failed error // of the last look
}

// job is waited for by some callers.
type job struct {
	waits  map[chan<- answer]struct{}
	looked time.Time
	queued bool // a look is to come
}

type answer struct {
	end store.JobEnd
	err error
}

// New makes the waits of a queue. It sends nothing.
func New(q Queue) *Waits {
	w := &Waits{q: q, jobs: map[string]*job{}}
	w.ctx, w.stop = context.WithCancel(context.Background()) // it outlives each wait
	w.looks = batch.New(lookMost, w.look)
	return w
}

// Wait returns when the job has ended, and tells how. A job of which nothing is known is answered too: its state
// is store.GoneState. Redis being away is waited out until ctx ends; the error then tells it too.
func (w *Waits) Wait(ctx context.Context, id string) (store.JobEnd, error) {
	came := make(chan answer, 1)
	if !w.add(id, came) {
		return store.JobEnd{}, ErrClosed
	}
	select {
	case a := <-came:
		return a.end, a.err
	case <-ctx.Done():
		return store.JobEnd{}, w.leave(ctx, id, came)
	}
}

func (w *Waits) add(id string, came chan<- answer) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	j := w.jobs[id]
	if j == nil {
		j = &job{waits: map[chan<- answer]struct{}{}}
		w.jobs[id] = j
	}
	j.waits[came] = struct{}{}
	w.ask(id, j)
	if w.end == nil {
		ctx, cancel := context.WithCancel(w.ctx) // ends when nobody waits, or with Close
		w.end, w.ended = cancel, make(chan struct{})
		go w.run(ctx, w.ended)
	}
	return true
}

// ask has a job looked at, once however many ask; the lock is held.
func (w *Waits) ask(id string, j *job) {
	j.looked = time.Now()
	if !j.queued {
		j.queued = true
		w.looks.Add(id)
	}
}

func (w *Waits) leave(ctx context.Context, id string, came chan<- answer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if j := w.jobs[id]; j != nil {
		if delete(j.waits, came); len(j.waits) == 0 {
			delete(w.jobs, id)
		}
	}
	return fmt.Errorf("wait for job %s: %w", id, errors.Join(ctx.Err(), w.failed))
}

// Close ends all waits with ErrClosed.
func (w *Waits) Close() {
	w.mu.Lock()
	w.closed = true
	for id, j := range w.jobs {
		j.tell(answer{err: ErrClosed})
		delete(w.jobs, id)
	}
	ended := w.ended
	w.mu.Unlock()
	w.stop()
	if ended != nil {
		<-ended
	}
	w.looks.Wait()
}

func (j *job) tell(a answer) {
	for came := range j.waits {
		came <- a // it has room for the one answer
	}
}

// run hears notices and looks by a timer, as long as somebody waits and a little longer.
func (w *Waits) run(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	defer w.q.Follow(store.EndedChannel, w.hear)()
	tick := time.NewTicker(look / 2)
	defer tick.Stop()
	for idle := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if w.lookAgain(now) {
				idle = now
			}
			if now.Sub(idle) > linger && w.rest() {
				return
			}
		}
	}
}

// rest ends the run unless somebody waits.
func (w *Waits) rest() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.jobs) > 0 {
		return false
	}
	w.end()
	w.end = nil
	return true
}

// lookAgain looks at the jobs that nobody looked at for a while; false where nobody waits.
func (w *Waits) lookAgain(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	every := max(look, time.Duration(len(w.jobs))*time.Second/perSecond)
	for id, j := range w.jobs {
		if now.Sub(j.looked) >= every {
			w.ask(id, j)
		}
	}
	return len(w.jobs) > 0
}

// hear looks at the job that a notice names; at all of them where notices may have been missed.
func (w *Waits) hear(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id, _, _ := strings.Cut(line, " ")
	if j := w.jobs[id]; j != nil {
		w.ask(id, j)
	}
	if line != "" {
		return
	}
	for id, j := range w.jobs {
		w.ask(id, j)
	}
}

// look asks how jobs ended, those that are still waited for. Called by the batcher, one call at a time. A failed look is
// made again by the timer, unless the client of Redis was closed.
func (w *Waits) look(ids []string) {
	ids = w.wanted(ids)
	if len(ids) == 0 {
		return
	}
	ends, err := w.q.Ends(w.ctx, ids)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = err
	for i, id := range ids {
		j := w.jobs[id]
		switch {
		case j == nil:
			continue
		case err == nil && ends[i].State == store.StateNone, err != nil && !errors.Is(err, redis.ErrClosed):
			continue
		case err != nil:
			j.tell(answer{err: fmt.Errorf("wait for job %s: %w", id, err)})
		default:
			j.tell(answer{end: ends[i]})
		}
		delete(w.jobs, id)
	}
}

// wanted are those of the IDs that somebody waits for. From here on a notice asks for another look.
func (w *Waits) wanted(ids []string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := ids[:0]
	for _, id := range ids {
		if j := w.jobs[id]; j != nil && j.queued {
			j.queued = false
			out = append(out, id)
		}
	}
	return out
}
