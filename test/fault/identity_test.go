package fault_test

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
)

// TestR5_sameIDOtherBody: two producers use one ID for different payloads, at once, and at each later stage of the job's
// life. One job is accepted, the other told conflict with nothing changed; the same payload is a duplicate.
func TestR5_sameIDOtherBody(t *testing.T) {
	t.Parallel()
	t.Run("at once: one is accepted, the other a conflict, and the job is the first's", func(t *testing.T) {
		t.Parallel()
		const pairs = 300
		r := newRig(t)
		for n := range pairs {
			rivals(t, r, name("id-", n))
		}
		s := r.stats()
		if s.Accepted != pairs || s.Ready != pairs || s.Conflicts != pairs {
			t.Errorf("of %d pairs: %d accepted, %d ready, %d conflicts", pairs, s.Accepted, s.Ready, s.Conflicts)
		}
	})
	for stage, reach := range stages {
		t.Run(stage+": another payload is a conflict, the same a duplicate", func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			reach(t, r)
			before, counts := lookOn(t, r)
			e, err := work.Enqueue(t.Context(), r.client, 2, waybill.ID("id"))
			if e.Outcome != waybill.OutcomeConflict || !errors.Is(err, waybill.ErrConflict) {
				t.Errorf("another payload: %s, %v", e.Outcome, err)
			}
			if e, err := work.Enqueue(t.Context(), r.client, 1, waybill.ID("id")); e.Outcome != waybill.OutcomeDuplicate || err != nil {
				t.Errorf("the same payload: %s, %v", e.Outcome, err)
			}
			after, now := lookOn(t, r)
			if !reflect.DeepEqual(before, after) {
				t.Errorf("the job was\n%+v and is\n%+v", before, after)
			}
			counts.Conflicts++
			counts.Duplicates++
			if !reflect.DeepEqual(counts, now) {
				t.Errorf("the queue was\n%+v and is\n%+v", counts, now)
			}
		})
	}
}

// rivals enqueues two payloads under one ID from two clients at the same time.
func rivals(t *testing.T, r *rig, id string) {
	t.Helper()
	said, begin := [2]waybill.Enqueued{}, make(chan struct{})
	var both sync.WaitGroup
	for i, c := range []*waybill.Client{r.client, r.beside} {
		both.Go(func() {
			<-begin
			said[i], _ = work.Enqueue(t.Context(), c, i, waybill.ID(id)) // the answer has the error
		})
	}
	close(begin)
	both.Wait()
	won := 0
	if said[1].Outcome == waybill.OutcomeAccepted {
		won = 1
	}
	first, second := said[won], said[1-won]
	if first.Outcome != waybill.OutcomeAccepted || second.Outcome != waybill.OutcomeConflict || !errors.Is(second.Err, waybill.ErrConflict) {
		t.Errorf("%s: %s and %s, %v", id, first.Outcome, second.Outcome, second.Err)
	}
	j, err := r.beside.Queue(queue).Get(t.Context(), id)
	must(t, err)
	if want := name("", won); string(j.Payload) != want {
		t.Errorf("%s: the payload is %s, accepted was %s", id, j.Payload, want)
	}
}

// stages bring job "id" with payload 1 to the stages of its life, whose attempt, if one runs, goes on.
var stages = map[string]func(t *testing.T, r *rig){
	"active": func(_ *testing.T, r *rig) {
		running := make(chan struct{})
		r.start(waybill.WorkerOptions{Grace: time.Millisecond}, func(ctx context.Context, _ *waybill.Job[int]) error {
			close(running)
			<-ctx.Done() // until the test ends
			return context.Cause(ctx)
		})
		r.send(1, waybill.ID("id"))
		<-running
	},
	"scheduled":               func(_ *testing.T, r *rig) { r.send(1, waybill.ID("id"), waybill.After(time.Hour)) },
	"completed, and kept":     func(t *testing.T, r *rig) { finish(t, r, nil, waybill.Retention(time.Hour)) },
	"completed, and not kept": func(t *testing.T, r *rig) { finish(t, r, nil) },
	"dead":                    func(t *testing.T, r *rig) { finish(t, r, waybill.Dead(errors.New("no such user"))) },
	"cancelled":               func(t *testing.T, r *rig) { finish(t, r, waybill.Cancel("not wanted")) },
	"deleted": func(t *testing.T, r *rig) {
		r.send(1, waybill.ID("id"))
		must(t, r.beside.Queue(queue).Delete(t.Context(), "id", waybill.DeleteOptions{}))
	},
}

// finish sends job "id" and lets a worker end it by returning end.
func finish(t *testing.T, r *rig, end error, o ...waybill.EnqueueOption) {
	t.Helper()
	r.send(1, append(o, waybill.ID("id"))...)
	w, err := waybill.NewWorker(r.client, waybill.WorkerOptions{})
	must(t, err)
	work.Handle(w, func(context.Context, *waybill.Job[int]) error { return end })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	within(t, latest, "the job has ended", func() bool { return r.stats().Live() == 0 })
	stop()
	must(t, <-ended)
}

// lookOn gives the job and the counts of its queue, without what moves by itself.
func lookOn(t *testing.T, r *rig) (waybill.JobInfo, waybill.QueueStats) {
	t.Helper()
	j, err := r.beside.Queue(queue).Get(t.Context(), "id")
	must(t, err)
	j.At = time.Time{}
	s := r.stats()
	s.Now, s.OldestReady, s.HorizonNamed, s.HorizonGenerated = time.Time{}, 0, 0, 0
	return j, s
}
