package topic

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// ReplayOptions of Replay. ID is required.
type ReplayOptions struct {
	// ID names the replay, 1 to 64 of A-Z a-z 0-9 . _ -: the same ID again delivers what the first run did not, and nothing
	// twice within the subscription's window.
	ID       string
	From, To Place // both included; "" = the ends of the stream
	// Again repeats effects: receipts and idempotency keys of the replay are its own. Without it they are those of the event, so
	// that what was done is not done again.
	Again bool
	// Progress is told after each page; nil = nobody.
	Progress func(Replayed)
}

// Replayed counts what a replay did.
type Replayed struct {
	Events     int64  // met in the range
	Delivered  int64  // made jobs
	Duplicates int64  // this replay had delivered before
	Last       string // ID of the last entry met
}

// maxReplay bounds the ID of a replay, in bytes.
const maxReplay = 64

// fullPause is how long a replay waits where the subscription is full.
const fullPause = 100 * time.Millisecond

// Replay delivers events that the stream still holds to one subscription again, as jobs of their own: their IDs are the
// replay's with the event's behind (REPLAY/EVENT), and an attempt tells Replay and Event. First deliveries and the
// subscription's place are not touched. Events are kept for a replay as long as the topic's settings say (Keep). Where the
// subscription is full it waits for room. It may be broken off and repeated.
// Errors: ErrInvalid, ErrUnavailable, ErrUnknown, ErrNewer, ErrConflict (a job has the ID of one of the
// replay), waybill.ErrState (the replay was begun with another Again, which is known for 30 days), the context's.
func (s *Stream) Replay(ctx context.Context, subscription string, o ReplayOptions) (Replayed, error) {
	if s.err != nil {
		return Replayed{}, s.err
	}
	if err := CheckReplayID("replay id", o.ID); err != nil {
		return Replayed{}, err
	}
	q, err := s.t.Subscription(subscription)
	if err != nil {
		return Replayed{}, err
	}
	if err := begin(ctx, q, o); err != nil {
		return Replayed{}, err
	}
	r := &replaying{q: q, o: o}
	err = s.read(ctx, o.From, o.To, func(e store.Event) error {
		r.add(e)
		if len(r.jobs) < readPage {
			return nil
		}
		return r.send(ctx)
	})
	if err == nil {
		err = r.send(ctx)
	}
	return r.done, err
}

// CheckReplayID checks the ID of a replay; the error names the field. Errors: ErrInvalid.
func CheckReplayID(field, id string) error {
	if err := record.CheckName(field, id); err != nil {
		return err
	}
	if len(id) > maxReplay {
		return &record.InputError{Field: field, Why: fmt.Sprintf("is %d bytes long: at most %d", len(id), maxReplay)}
	}
	return nil
}

// begin refuses to go on with a replay in another way than it was begun.
func begin(ctx context.Context, q *store.Queue, o ReplayOptions) error {
	again, err := q.BeginReplay(ctx, o.ID, o.Again)
	switch {
	case err != nil:
		return err
	case again && !o.Again:
		return fmt.Errorf("replay %s was begun so that it repeats effects: go on with it so, or take another ID: %w", o.ID, errBegun)
	case !again && o.Again:
		return fmt.Errorf("replay %s was begun so that it repeats no effects: go on with it so, or take another ID: %w", o.ID, errBegun)
	}
	return nil
}

// errBegun is ErrState, whose own text is of jobs.
var errBegun = &begunError{}

type begunError struct{}

func (*begunError) Error() string { return "an ID stands for one replay" }

func (*begunError) Unwrap() error { return waybill.ErrState }

// replaying is one run of a replay.
type replaying struct {
	q    *store.Queue
	o    ReplayOptions
	jobs []store.Add
	last string
	done Replayed
}

func (r *replaying) add(e store.Event) {
	j := e.Job
	j.Named, j.Event, j.Replay, j.Again = true, e.ID, r.o.ID, r.o.Again
	if j.Born.IsZero() { // else it came by an outbox, and is as old as its row
		j.Born = e.At
	}
	r.jobs = append(r.jobs, store.Add{ID: replayID(r.o.ID, e.ID), Job: j})
	r.last = e.Entry
}

// replayID is the ID of the job by which a replay delivers an event; above the bound of IDs its SHA-256 in hex.
func replayID(replay, event string) string {
	id := replay + "/" + event
	if len(id) <= record.MaxID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// send delivers what was gathered, waiting for room.
func (r *replaying) send(ctx context.Context) error {
	r.done.Events += int64(len(r.jobs))
	for len(r.jobs) > 0 {
		var full []store.Add
		for i, e := range r.q.Enqueue(ctx, r.jobs, false) {
			switch {
			case e.Err != nil:
				return fmt.Errorf("replay %s: %w", r.o.ID, e.Err)
			case e.Outcome == store.Conflict:
				return fmt.Errorf("replay %s: job %s: %w", r.o.ID, r.jobs[i].ID, waybill.ErrConflict)
			case e.Outcome == store.Full:
				full = append(full, r.jobs[i])
			case e.Outcome == store.Duplicate:
				r.done.Duplicates++
			default:
				r.done.Delivered++
			}
		}
		r.jobs = full
		if err := r.pause(ctx); err != nil {
			return err
		}
	}
	r.done.Last = r.last
	if r.o.Progress != nil {
		r.o.Progress(r.done)
	}
	return nil
}

// pause waits a little where jobs are left for want of room.
func (r *replaying) pause(ctx context.Context) error {
	if len(r.jobs) == 0 {
		return nil
	}
	t := time.NewTimer(fullPause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("replay %s: wait for room: %w", r.o.ID, context.Cause(ctx))
	case <-t.C:
		return nil
	}
}
