package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/record"
)

// MaxSubscriptions bounds the subscriptions of a topic: each publish rings the bell of each.
const MaxSubscriptions = 64

// Topic is the stream of a topic with its subscriptions. What is published goes through Queue(Address(name)).Enqueue.
type Topic struct {
	*Queue
	topic string
}

// Topic gives the store of a topic. It sends nothing. Errors: record.ErrInvalid.
func (s *Store) Topic(name string) (*Topic, error) {
	if err := CheckTopic(name); err != nil {
		return nil, err
	}
	q, err := s.Queue(Address(name))
	return &Topic{q, name}, err
}

// Topic is the topic's name.
func (t *Topic) Topic() string { return t.topic }

// Subscription is the queue of a subscription. It sends nothing. Errors: record.ErrInvalid.
func (t *Topic) Subscription(name string) (*Queue, error) {
	if err := record.CheckName("subscription", name); err != nil {
		return nil, err
	}
	return t.store.Queue(t.topic + "/" + name)
}

// Subscribed is the word in which a subscription answers.
type Subscribed string

// What became of a Subscribe or Attach.
const (
	SubCreated  Subscribed = "created"
	SubExists   Subscribed = "exists"   // nothing changed
	SubDetached Subscribed = "detached" // it exists, takes nothing, and is to be attached
	SubAttached Subscribed = "attached" // it takes part again
	SubMany     Subscribed = "many"     // refused: the topic has MaxSubscriptions
	SubForeign  Subscribed = "foreign"  // refused: a consumer group of somebody else's has this name
	SubFuture   Subscribed = "future"   // refused: nothing has reached the place yet
	SubEnded    Subscribed = "ended"    // Remain: it was ended by Unsubscribe; nothing changed
)

// How says what Subscribe is to do.
type How string

// What Subscribe may do.
const (
	Create How = "create"
	Attach How = "attach" // one that was detached takes part again
	Remain How = "remain" // as Create, but one that was ended stays so: for those who saw it exist
)

// Standpoint is where a subscription stands.
type Standpoint struct {
	Word   Subscribed
	Cursor string // ID of the last entry taken, "0-0" before the first
	Taken  int64  // number of the event there
	Last   int64  // number of the topic's last event
	Lost   int64  // Attach: events that were cut while it was detached
}

// Places of a subscription; beside them the ID of an entry, or milliseconds since 1970: the first entry at or above it.
const (
	Beginning = "beginning"
	FromNow   = "now"
)

// CheckPlace checks a place in a stream and gives it as the scripts take it. Errors: record.ErrInvalid.
func CheckPlace(field, place string) (string, error) {
	if place == Beginning || place == FromNow {
		return place, nil
	}
	return CheckEntryID(field, place)
}

// CheckEntryID checks the ID of an entry: MS-SEQ, or MS alone for the first of that millisecond. Errors: record.ErrInvalid.
func CheckEntryID(field, id string) (string, error) {
	ms, seq, whole := strings.Cut(id, "-")
	if !whole {
		seq = "0"
	}
	m, err := strconv.ParseUint(ms, 10, 53)
	s, err2 := strconv.ParseUint(seq, 10, 53)
	if err != nil || err2 != nil {
		return "", bad(field, "%q is no entry's ID: milliseconds since 1970, a dash and a number, as 1700000000000-0", id)
	}
	return strconv.FormatUint(m, 10) + "-" + strconv.FormatUint(s, 10), nil
}

// Subscribe makes a subscription at a place; one that exists keeps its own. Attach lets one that was detached take part
// again, from the place on or from where it stood, whichever is later. Errors: record.ErrInvalid, else as any call; what the
// topic refuses is told by the word.
func (t *Topic) Subscribe(ctx context.Context, name, place string, how How) (Standpoint, error) {
	place, err := CheckPlace("from", place)
	if err != nil {
		return Standpoint{}, err
	}
	q, err := t.Subscription(name)
	if err != nil {
		return Standpoint{}, err
	}
	reply, unsure, err := q.call(ctx, "subscribe", name, string(how), place)
	if err != nil {
		return Standpoint{}, err
	}
	if len(reply) != 6 {
		return Standpoint{}, fmt.Errorf("subscribe %q: %d values: %w", q.name, len(reply), errReply)
	}
	s := Standpoint{Subscribed(text(reply[1])), text(reply[2]), number(reply[3]), number(reply[4]), number(reply[5])}
	if unsure && s.Word == SubExists && how == Attach {
		s.Word = SubAttached // perhaps by an earlier try of this call
	}
	switch s.Word {
	case SubCreated, SubExists, SubDetached, SubAttached:
		_, _ = t.Register(ctx), q.Register(ctx) // for lists that people read
	}
	return s, nil
}

// Left is what an ended subscription leaves.
type Left struct {
	Removed    bool
	Lag        int64 // events it had not taken
	Live, Dead int64 // jobs that stay in its queue
}

// Unsubscribe ends a subscription. Its jobs stay. Errors: record.ErrInvalid, else as any call.
func (t *Topic) Unsubscribe(ctx context.Context, name string) (Left, error) {
	q, err := t.Subscription(name)
	if err != nil {
		return Left{}, err
	}
	reply, unsure, err := q.call(ctx, "unsubscribe", name)
	if err != nil {
		return Left{}, err
	}
	if len(reply) < 5 {
		return Left{Removed: unsure}, nil
	}
	return Left{true, number(reply[2]), number(reply[3]), number(reply[4])}, nil
}

// Trimmed is what a Trim did.
type Trimmed struct {
	Cut, Left int64 // entries
	More      bool  // there is more to cut: call again
}

// Trim cuts a bounded number of entries: those that nobody wants, or, below an entry's ID, all ("" = the former).
// Errors: record.ErrInvalid, else as any call.
func (t *Topic) Trim(ctx context.Context, below string) (Trimmed, error) {
	if below != "" {
		var err error
		if below, err = CheckEntryID("before", below); err != nil {
			return Trimmed{}, err
		}
	}
	reply, _, err := t.call(ctx, "trim", below)
	if err != nil {
		return Trimmed{}, err
	}
	if len(reply) != 4 {
		return Trimmed{}, fmt.Errorf("trim %q: %d values: %w", t.name, len(reply), errReply)
	}
	return Trimmed{Cut: number(reply[1]), More: number(reply[2]) == 1, Left: number(reply[3])}, nil
}

// Event is an entry of a stream, as publish wrote it.
type Event struct {
	Entry  string // ID in the stream
	Number int64
	ID     string
	At     time.Time  // when it was published, by the server's clock
	Job    record.Job // kind, payload, headers, version
}

// Read gives events from an entry's ID to another, both included, at most most of them ("-" and "+" are the ends), and the
// ID from which to go on, "" where there is nothing more. What publish did not write is left out.
// Errors: ErrUnavailable; ErrNewer and record.ErrDamaged of an entry that can't be read.
func (t *Topic) Read(ctx context.Context, from, to string, most int64) (events []Event, next string, err error) {
	key := tag(t.store.prefix, t.name)
	key = key[:len(key)-len(topicWord)] + "stream"
	got, err := command(ctx, t.store.rdb, func() ([]redis.XMessage, error) {
		return t.store.rdb.XRangeN(ctx, key, from, to, most).Result()
	})
	if err != nil {
		return nil, "", readError("read", t.name, err)
	}
	for _, m := range got {
		next = "(" + m.ID
		if m.Values["head"] == nil || m.Values["id"] == nil {
			continue
		}
		e, err := readEvent(m)
		if err != nil {
			return events, "", fmt.Errorf("entry %s of topic %s: %w", m.ID, t.topic, err)
		}
		events = append(events, e)
	}
	if int64(len(got)) < most {
		next = ""
	}
	return events, next, nil
}

func readEvent(m redis.XMessage) (Event, error) {
	job, err := record.ParseEvent(text(m.Values["head"]), text(m.Values["payload"]))
	if err != nil {
		return Event{}, err
	}
	ms, _, _ := strings.Cut(m.ID, "-")
	return Event{Entry: m.ID, Number: number(m.Values["n"]), ID: text(m.Values["id"]), At: moment(ms), Job: job}, nil
}
