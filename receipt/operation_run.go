package receipt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/codec"
)

// operationRun is one attempt's part in an operation.
type operationRun[Req, Res any] struct {
	o        Operation[Req, Res]
	r        *Receipts
	k        Key
	row      operationRow // as it was read last
	opened   int          // the number of the call that this run has noted; 0 = none
	alone    bool         // every call before ours was answered, or never came there
	deadline time.Time    // no call begins later: Final and KeyTTL are counted from when it was noted
	lost     bool         // the reply to a commit may have been lost
	res      Result[Res]
}

// step is what an attempt does next.
type step int

const (
	stepSend   step = iota // the call is noted as open
	stepLookup             // ask what became of the last one
	stepFinish             // there is an answer, and its effect is missing
	stepAnswer             // there is an answer
	stepWait               // another attempt's call may be under way
	stepGiveUp             // only a person can go on
	stepDone               // nothing: the answer was taken
)

// do is the whole of it.
func (u *operationRun[Req, Res]) do(ctx context.Context, raw []byte) error {
	next, err := u.start(ctx, raw)
	if err != nil {
		return err
	}
	if next == stepLookup {
		if next, err = u.lookup(ctx); err != nil {
			return err
		}
	}
	switch next {
	case stepSend:
		return u.send(ctx)
	case stepFinish:
		return u.finish(ctx)
	case stepWait:
		left := u.row.called.Add(u.row.timeout).Sub(u.row.now)
		return u.later(left+time.Second, "an earlier call may be under way")
	case stepGiveUp:
		return u.giveUp(ctx, u.unanswerable())
	case stepAnswer:
		return u.saved()
	}
	return nil
}

// start saves the intent, or finds the one that is there, and decides what to do.
func (u *operationRun[Req, Res]) start(ctx context.Context, raw []byte) (next step, err error) {
	err = u.tx(ctx, func(ctx context.Context, s Session) error {
		if u.row, err = u.r.intend(ctx, s, u.k, raw, u.o.Timeout); err != nil {
			return err
		}
		if u.noted() {
			next = stepSend
			return nil
		}
		u.opened = 0
		u.alone = u.row.calls == 0 || u.row.state == StateBusy
		if next = u.next(); next == stepSend {
			return u.open(ctx, s)
		}
		return nil
	})
	return next, err
}

// next decides by what is saved.
func (u *operationRun[Req, Res]) next() step {
	row := u.row
	switch {
	case row.state.final():
		return stepAnswer
	case row.state == StateAnswered:
		return stepFinish
	case row.state == StateUnknown:
		return stepGiveUp
	case row.calls == 0 || row.state == StateBusy: // no call is open
		return stepSend
	case u.keyed():
		return stepSend
	case u.o.Lookup != nil:
		return stepLookup
	case row.now.Before(row.called.Add(row.timeout)):
		return stepWait
	}
	return stepGiveUp
}

// keyed says whether a call made now would be answered before the other side may forget its key.
func (u *operationRun[Req, Res]) keyed() bool {
	return u.o.KeyTTL > 0 && u.row.now.Add(u.o.Timeout).Before(u.row.intended.Add(u.o.KeyTTL))
}

// noted says whether our call was noted in a try whose reply was lost; it was not made yet.
func (u *operationRun[Req, Res]) noted() bool {
	return u.lost && u.opened > 0 && u.row.calls == u.opened && u.row.token == u.k.Token
}

// open notes that a call is about to be made. Another attempt may have noted one since the row was read.
func (u *operationRun[Req, Res]) open(ctx context.Context, s Session) error {
	u.deadline, u.opened = time.Now().Add(u.o.Timeout), u.row.calls+1
	rows, err := s.Change(ctx, u.r.sql["op_call"], []any{
		u.o.Timeout.Milliseconds(), u.k.Token, u.r.scope(u.k.Scope), u.k.ID, u.row.calls, string(u.row.state),
	})
	if err != nil {
		return fmt.Errorf("operation %q: note the call: %w", u.k.ID, err)
	}
	if rows != 1 {
		return errRival
	}
	return nil
}

// send makes the call that was noted, unless its time is over: a process that was stopped meanwhile would make it when
// others have concluded that it was not made.
func (u *operationRun[Req, Res]) send(ctx context.Context) error {
	call, err := u.call(u.opened)
	if err != nil {
		return err
	}
	ctx, stop := context.WithDeadline(ctx, u.deadline)
	defer stop()
	if ctx.Err() != nil {
		return u.take(ctx, u.res.Value, Busy(time.Second, "the call was not made in its time"), false)
	}
	res, err := u.o.Send(ctx, call)
	return u.take(ctx, res, err, false)
}

// call is what Send and Lookup get: what was saved, not what this attempt would ask for.
func (u *operationRun[Req, Res]) call(number int) (Call[Req], error) {
	c := Call[Req]{IdempotencyKey: u.row.idempotencyKey, Raw: u.row.request, Number: number, IntendedAt: u.row.intended}
	if err := codec.Decode(u.row.request, &c.Request); err != nil {
		return c, waybill.Dead(fmt.Errorf("operation %q: the saved request does not decode: %w", u.k.ID, err))
	}
	return c, nil
}

// lookup asks the other side what became of the last call.
func (u *operationRun[Req, Res]) lookup(ctx context.Context) (step, error) {
	call, err := u.call(u.row.calls)
	if err != nil {
		return 0, err
	}
	limited, stop := context.WithTimeout(ctx, u.o.Timeout)
	defer stop()
	res, err := u.o.Lookup(limited, call)
	if !errors.Is(err, errNotFoundThere) {
		return stepDone, u.take(ctx, res, err, true)
	}
	// The time of the row is the database's, from before the lookup: what is not found later than this is final.
	if left := u.row.called.Add(u.row.timeout + u.o.Final).Sub(u.row.now); left > 0 {
		return 0, u.later(left+time.Second, "not found yet, which proves nothing")
	}
	if u.row.state == StatePending { // it was there
		return stepGiveUp, nil
	}
	u.alone = true
	return stepSend, u.tx(ctx, u.openFound)
}

// openFound is open after a lookup, in a transaction of its own.
func (u *operationRun[Req, Res]) openFound(ctx context.Context, s Session) error {
	if u.opened > 0 { // in an earlier try
		seen, err := u.row, error(nil)
		if u.row, err = u.r.readOperation(ctx, s, u.k); err != nil || u.noted() {
			return err
		}
		u.row = seen
	}
	return u.open(ctx, s)
}

// later puts the job off. Nothing is saved: nothing was learned.
func (u *operationRun[Req, Res]) later(after time.Duration, reason string) error {
	return (&answer{state: StateBusy, reason: reason, after: after, err: ErrBusy}).steer(u.k.ID)
}

// take records what a call or a lookup has come to.
func (u *operationRun[Req, Res]) take(ctx context.Context, res Res, err error, looked bool) error {
	if err == nil {
		return u.record(ctx, res)
	}
	var said *answer
	if !errors.As(err, &said) {
		return u.unanswered(ctx, err, looked)
	}
	if said.state == StateRefused {
		return u.refused(ctx, said.reason)
	}
	state := said.state
	if state == StateBusy && !u.alone {
		state = StateIntended // of an earlier call nothing is known
	}
	return errors.Join(said.steer(u.k.ID), u.note(ctx, state, said.reason))
}
