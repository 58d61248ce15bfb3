package store

import (
	"context"
	"errors"
	"time"
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

// Standing is what a queue knows of an outbox.
type Standing struct {
	Number byte      // of the outbox in this queue; 0 = it is not known there
	Sent   int64     // jobs that the queue ever took from the outbox; it falls only where Redis lost data
	Told   int64     // number of the last word that the queue left for any outbox; likewise
	Unread int64     // words that wait to be read by this outbox
	Now    time.Time // by Redis's clock
}

// Word is what a queue says became of a job.
type Word struct {
	ID   string
	Word string    // ack, dead, cancelled, deleted, or live: it was requeued
	At   time.Time // when, by Redis's clock
	raw  string    // as it stands there
}

// Outbox gives the queue as the relay of an outbox sees it. It sends nothing.
func (q *Queue) Outbox(name string) *Outbox { return &Outbox{q: q, name: name} }

// Enter gives the outbox its number in the queue; where it has one nothing changes. Errors: ErrCrowded, else as any call.
func (o *Outbox) Enter(ctx context.Context) (Standing, error) {
	return Standing{}, errors.ErrUnsupported
}

// Look tells how the outbox stands; Number 0 where the queue does not know it. Errors: as any call that reads.
func (o *Outbox) Look(ctx context.Context) (Standing, error) {
	return Standing{}, errors.ErrUnsupported
}

// Send is Enqueue for jobs of the outbox, whose Job.Outbox it sets. The standing is that after the last call that was answered; Unread is not told. Errors: ErrStranger; what happened to a call beside that is told of each of its jobs.
func (o *Outbox) Send(ctx context.Context, number byte, jobs []Add, spill bool) ([]Enqueued, Standing, error) {
	return nil, Standing{}, errors.ErrUnsupported
}

// Read first removes the words of done, each only where it still stands as it was read, and then reads up to about 1,000 from
// cursor on; "0" is the begin, and the end when it comes back. A word may come twice in a pass. Errors: ErrStranger, else as any call.
func (o *Outbox) Read(ctx context.Context, number byte, cursor string, done []Word) (words []Word, next string, s Standing, err error) {
	return nil, "", Standing{}, errors.ErrUnsupported
}
