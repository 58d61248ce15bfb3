package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/record"
)

// Outbox is a queue as the relay of one outbox sees it. An outbox has a random name, which its database keeps; in each
// queue it has a number, a base-62 character that the records of its jobs carry.
type Outbox struct {
	q    *Queue
	name string
}

// ErrStranger says that the queue does not know the outbox, or not under that number: Redis lost data, or the outbox never
// entered. Nothing was done.
var ErrStranger = errors.New("the queue does not know the outbox")

// ErrCrowded says that a queue has 62 outboxes already.
var ErrCrowded = errors.New("the queue has 62 outboxes already")

// stranger and crowded are the words of these.
const (
	stranger = "stranger"
	crowded  = "crowded"
)

// Standing is what a queue knows of an outbox.
type Standing struct {
	Number byte      // of the outbox in this queue; 0 = it is not known there
	Sent   int64     // jobs that the queue ever took from the outbox; it falls only where Redis lost data
	Told   int64     // number of the last word that the queue left for any outbox; likewise
	Unread int64     // words that wait to be read by this outbox
	Now    time.Time // by Redis's clock
	// Before is what Sent was before the call; only Send changes it. Compare it with the highest Sent answered earlier: what a
	// Send adds would hide a fall. -1: Sent fell between two calls of one Send.
	Before int64
}

// BoxInfo is what a queue knows of one of its outboxes.
type BoxInfo struct {
	Number byte
	Name   string // "" = no outbox has this number, but words wait for it
	Sent   int64  // jobs that the queue ever took from the outbox
	Unread int64  // words that wait to be read
}

// Outbox gives the queue as the relay of an outbox sees it. It sends nothing.
func (q *Queue) Outbox(name string) *Outbox { return &Outbox{q: q, name: name} }

// Outboxes lists the outboxes of the queue by their numbers, at most 62. Errors: as any call that reads.
func (q *Queue) Outboxes(ctx context.Context) ([]BoxInfo, error) {
	_, boxes, err := q.outboxes(ctx, "")
	return boxes, err
}

// outboxes asks for one outbox, or for all ("").
func (q *Queue) outboxes(ctx context.Context, name string) (reply []any, boxes []BoxInfo, err error) {
	reply, _, err = q.call(ctx, "outboxes", name)
	if err != nil {
		return nil, nil, err
	}
	for i := 2; i+3 < len(reply); i += 4 {
		boxes = append(boxes, boxInfo(reply[i:]))
	}
	if len(reply) != 2+4*len(boxes) {
		return nil, nil, fmt.Errorf("outboxes %q: %d values: %w", q.name, len(reply), errReply)
	}
	return reply, boxes, nil
}

func boxInfo(values []any) BoxInfo {
	b := BoxInfo{Name: text(values[1]), Sent: number(values[2]), Unread: number(values[3])}
	if n := text(values[0]); len(n) == 1 {
		b.Number = n[0]
	}
	return b
}

func (b BoxInfo) standing(now time.Time, told int64) Standing {
	return Standing{Number: b.Number, Sent: b.Sent, Before: b.Sent, Told: told, Unread: b.Unread, Now: now}
}

// check refuses a name that the scripts can't take.
func (o *Outbox) check() error { return record.CheckName("outbox", o.name) }

// Enter gives the outbox its number in the queue; where it has one nothing changes. Errors: ErrCrowded, record.ErrInvalid,
// else as any call.
func (o *Outbox) Enter(ctx context.Context) (Standing, error) {
	reply, err := o.call(ctx, "enter")
	if err != nil {
		return Standing{}, err
	}
	if text(reply[1]) == crowded {
		return Standing{}, fmt.Errorf("enter %q: %w", o.q.name, ErrCrowded)
	}
	if len(reply) != 7 {
		return Standing{}, fmt.Errorf("enter %q: %d values: %w", o.q.name, len(reply), errReply)
	}
	_ = o.q.Register(ctx) // for a list that people read
	return boxInfo(reply[3:]).standing(moment(reply[0]), number(reply[2])), nil
}

// Forget makes the queue forget the outbox, with what it was told and did not read: its number is free for another. Jobs
// that it sent stay, and what becomes of them is told to whoever has the number then. One that is not known is no error.
// Errors: record.ErrInvalid, else as any call.
func (o *Outbox) Forget(ctx context.Context) error {
	_, err := o.call(ctx, "forget")
	return err
}

func (o *Outbox) call(ctx context.Context, what string) ([]any, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	reply, _, err := o.q.call(ctx, "outbox", what, o.name)
	if err == nil && len(reply) < 2 {
		err = fmt.Errorf("%s %q: %d values: %w", what, o.q.name, len(reply), errReply)
	}
	return reply, err
}

// Look tells how the outbox stands; Number 0 where the queue does not know it. Errors: record.ErrInvalid, else as any call
// that reads.
func (o *Outbox) Look(ctx context.Context) (Standing, error) {
	if err := o.check(); err != nil {
		return Standing{}, err
	}
	reply, boxes, err := o.q.outboxes(ctx, o.name)
	if err != nil {
		return Standing{}, err
	}
	var box BoxInfo // not known
	if len(boxes) > 0 {
		box = boxes[0]
	}
	return box.standing(moment(reply[0]), number(reply[1])), nil
}

// Queue is the queue itself.
func (o *Outbox) Queue() *Queue { return o.q }
