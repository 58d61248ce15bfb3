package topic

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

// Place is where in a topic's stream something begins: Beginning, Now, At, or the ID of an entry, MS-SEQ.
type Place string

// Places.
const (
	Beginning Place = store.Beginning // before all that the stream holds
	Now       Place = store.FromNow   // behind all of it
)

// At is the first entry whose ID is at or after a time. IDs follow the clock of the Redis server, and go on where that goes
// back.
func At(t time.Time) Place { return Place(strconv.FormatInt(t.UnixMilli(), 10) + "-0") }

// Outcome says what became of a Create or Attach.
type Outcome string

// Outcomes.
const (
	Created  Outcome = Outcome(store.SubCreated)
	Exists   Outcome = Outcome(store.SubExists)   // it was there; nothing changed
	Detached Outcome = Outcome(store.SubDetached) // it was there, was detached, and takes nothing until it is attached
	Attached Outcome = Outcome(store.SubAttached) // it takes events again
)

// Standpoint is where a subscription stands.
type Standpoint struct {
	Outcome Outcome
	Cursor  string // ID of the last entry taken, "0-0" before the first
	Taken   int64  // number of the event there: events of a topic are numbered from 1
	Last    int64  // number of the topic's last event
	Lost    int64  // Attach: events that were cut while the subscription was detached
}

// Stream looks at one topic and steers it, untyped. It is safe for concurrent use.
type Stream struct {
	client *waybill.Client
	t      *store.Topic
	err    error // of the name, told by every method
}

// Open gives the stream of a topic by name. It sends nothing; a bad name is told by the first method as ErrInvalid.
func Open(c *waybill.Client, name string) *Stream {
	t, err := c.Topic(name)
	return &Stream{c, t, err}
}

// Known tells whether anybody has written to the topic: an event, a subscription or a setting. Where Redis was asked to forget
// its list of topics it is known again with the next write. Errors: ErrInvalid, ErrUnavailable.
func (s *Stream) Known(ctx context.Context) (bool, error) {
	if s.err != nil {
		return false, s.err
	}
	all, err := s.client.Topics(ctx)
	return slices.Contains(all, s.t.Topic()), err
}

// Create makes a subscription at a place; "" is Beginning. One that exists keeps its place, and Exists says so; one that was
// detached stays so. All later events reach it, whenever its workers come. It holds the stream: what it has not taken is not
// cut. Errors: ErrInvalid, also where the place lies ahead; waybill.ErrState: the topic has 64 subscriptions, or the name is
// that of a consumer group that is not Waybill's; ErrUnavailable; ErrUnknown.
func (s *Stream) Create(ctx context.Context, subscription string, from Place) (Standpoint, error) {
	return s.subscribe(ctx, subscription, from, store.Create)
}

// Attach lets a subscription that was detached take events again: from a place, "" being the oldest event there is, or from
// where it stood, whichever is later. What was cut meanwhile it has lost, and Lost tells how many. Errors: as Create.
func (s *Stream) Attach(ctx context.Context, subscription string, from Place) (Standpoint, error) {
	return s.subscribe(ctx, subscription, from, store.Attach)
}

func (s *Stream) subscribe(ctx context.Context, subscription string, from Place, how store.How) (Standpoint, error) {
	if s.err != nil {
		return Standpoint{}, s.err
	}
	if from == "" {
		from = Beginning
	}
	at, err := s.t.Subscribe(ctx, subscription, string(from), how)
	if err != nil {
		return Standpoint{}, err
	}
	if err := waybill.SubscribeError(at.Word); err != nil {
		return Standpoint{}, fmt.Errorf("subscription %s/%s: %w", s.t.Topic(), subscription, err)
	}
	return Standpoint{Outcome(at.Word), at.Cursor, at.Taken, at.Last, at.Lost}, nil
}

// Left is what an ended subscription leaves.
type Left struct {
	Removed    bool  // false: there was none
	Lag        int64 // events it had not taken
	Live, Dead int64 // jobs that stay in its queue, to be worked off or deleted
}

// Remove ends a subscription: it takes no more events and holds the stream no longer. Its jobs stay. Workers that run don't
// make it anew; one that subscribes does when it starts. Errors: ErrInvalid, ErrUnavailable, ErrUnknown.
func (s *Stream) Remove(ctx context.Context, subscription string) (Left, error) {
	if s.err != nil {
		return Left{}, s.err
	}
	l, err := s.t.Unsubscribe(ctx, subscription)
	return Left(l), err
}

// Trim cuts entries that nobody wants any more, as claims do four times a second by themselves, or with before all entries
// below that place, whoever wants them: subscriptions then count what they lost. It gives the number of entries cut.
// Errors: ErrInvalid, ErrUnavailable, ErrUnknown.
func (s *Stream) Trim(ctx context.Context, before Place) (cut int64, err error) {
	if s.err != nil {
		return 0, s.err
	}
	for {
		t, err := s.t.Trim(ctx, string(before))
		cut += t.Cut
		if err != nil || !t.More {
			return cut, err
		}
	}
}

// Event is one entry of a stream.
type Event struct {
	Entry   string // ID in the stream
	Number  int64
	ID      string
	At      time.Time // when it was published, by Redis's clock
	Kind    string
	Payload []byte
	Headers map[string]string
	Version int // of the payload's shape
}

// readPage is how many events one read brings.
const readPage = 100

// Events gives the events that the stream holds from one place to another, "" being its ends, both included, in order, until
// f says no. Errors: ErrInvalid, ErrUnavailable, ErrNewer; f's own.
func (s *Stream) Events(ctx context.Context, from, to Place, f func(Event) error) error {
	return s.read(ctx, from, to, func(e store.Event) error {
		return f(Event{e.Entry, e.Number, e.ID, e.At, e.Job.Kind, e.Job.Payload, e.Job.Headers, e.Job.Version})
	})
}

func (s *Stream) read(ctx context.Context, from, to Place, f func(store.Event) error) error {
	if s.err != nil {
		return s.err
	}
	first, last, err := ends(from, to)
	if err != nil {
		return err
	}
	for first != "" {
		events, next, err := s.t.Read(ctx, first, last, readPage)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := f(e); err != nil {
				return err
			}
		}
		first = next
	}
	return nil
}

// ends are the IDs of a range as Redis takes them.
func ends(from, to Place) (first, last string, err error) {
	first, last = "-", "+"
	if from != "" && from != Beginning {
		if first, err = store.CheckEntryID("from", string(from)); err != nil {
			return "", "", err
		}
	}
	if to != "" && to != Now {
		if last, err = store.CheckEntryID("to", string(to)); err != nil {
			return "", "", err
		}
	}
	return first, last, nil
}
