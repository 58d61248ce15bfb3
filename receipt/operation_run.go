package receipt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/codec"
	"github.com/waybillhq/waybill/internal/dialect"
)

// operationRun is one attempt's part in an operation.
type operationRun[Req, Res any] struct {
	o     Operation[Req, Res]
	r     *Receipts
	k     Key
	row   operationRow // as it was read last
	alone bool         // every call before ours was answered, or never came there
	res   Result[Res]
}

// start saves the intent, or finds the one that is there, and decides what to do.
func (u *operationRun[Req, Res]) start(ctx context.Context, raw []byte) (next step, err error) {
	err = u.r.short(ctx, u.k, false, func(ctx context.Context, s Session) error {
		if u.row, err = u.r.intend(ctx, s, u.k, raw, u.o.Timeout); err != nil {
			return err
		}
		next, u.alone = u.next(), u.row.calls == 0 || u.row.state == StateBusy
		if next == stepSend {
			return u.open(ctx, s)
		}
		return nil
	})
	return next, err
}

// step is what an attempt does next.
type step int

const (
	stepSend   step = iota // the call is noted as open
	stepLookup             // ask what became of the last one
	stepAnswer             // there is an answer
	stepGiveUp             // only a person can go on
)

// next decides by what is saved.
func (u *operationRun[Req, Res]) next() step {
	row := u.row
	switch {
	case row.state.final():
		return stepAnswer
	case row.state == StateUnknown:
		return stepGiveUp
	case row.calls == 0 || row.state == StateBusy: // no call is open
		return stepSend
	case u.o.KeyTTL > 0 && row.now.Add(u.o.Timeout).Before(row.intended.Add(u.o.KeyTTL)):
		return stepSend
	case u.o.Lookup != nil:
		return stepLookup
	}
	return stepGiveUp
}

// open notes that a call is about to be made. Another attempt may have noted one since the row was read.
func (u *operationRun[Req, Res]) open(ctx context.Context, s Session) error {
	rows, err := s.Change(ctx, u.r.sql["op_call"], []any{
		u.o.Timeout.Milliseconds(), u.k.Token, u.r.scope(u.k.Scope), u.k.ID, u.row.calls,
	})
	if err != nil {
		return fmt.Errorf("operation %q: note the call: %w", u.k.ID, err)
	}
	if rows != 1 {
		return errRival
	}
	u.row.calls++
	return nil
}

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
		call, err := u.call()
		if err != nil {
			return err
		}
		res, err := limited(ctx, u.o.Timeout, func(ctx context.Context) (Res, error) { return u.o.Send(ctx, call) })
		return u.take(ctx, res, err, false)
	case stepGiveUp:
		return u.giveUp(ctx, ErrUnanswered)
	}
	return u.saved()
}

// call is what Send and Lookup get: what was saved, not what this attempt would ask for.
func (u *operationRun[Req, Res]) call() (Call[Req], error) {
	c := Call[Req]{IdempotencyKey: u.row.idempotencyKey, Raw: u.row.request, Number: u.row.calls, IntendedAt: u.row.intended}
	if err := codec.Decode(u.row.request, &c.Request); err != nil {
		return c, waybill.Dead(fmt.Errorf("operation %q: the saved request does not decode: %w", u.k.ID, err))
	}
	return c, nil
}

// limited runs a call within its time.
func limited[Res any](ctx context.Context, most time.Duration, f func(context.Context) (Res, error)) (Res, error) {
	ctx, stop := context.WithTimeout(ctx, most)
	defer stop()
	return f(ctx)
}

// lookup asks the other side what became of the last call.
func (u *operationRun[Req, Res]) lookup(ctx context.Context) (step, error) {
	call, err := u.call()
	if err != nil {
		return 0, err
	}
	res, err := limited(ctx, u.o.Timeout, func(ctx context.Context) (Res, error) { return u.o.Lookup(ctx, call) })
	if !errors.Is(err, errNotFoundThere) {
		return stepAnswer, u.take(ctx, res, err, true)
	}
	// The time of the row is the database's, from before the lookup: what is not found later than this is final.
	final := u.row.called.Add(u.row.timeout + u.o.Final)
	if left := final.Sub(u.row.now); left > 0 {
		return 0, (&answer{state: StateBusy, reason: "not found yet, which proves nothing", after: left + time.Second, err: ErrBusy}).steer(u.k.ID)
	}
	u.alone = true
	err = u.r.short(ctx, u.k, false, u.open)
	if errors.Is(err, errRival) {
		return 0, snoozed(fmt.Errorf("operation %q: another attempt calls: %w", u.k.ID, ErrRetry))
	}
	return stepSend, err
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
	if state == StateBusy && (looked || !u.alone) {
		state = u.row.state // this one was not taken; of an earlier call nothing is known
	}
	return errors.Join(said.steer(u.k.ID), u.note(ctx, state, said.reason))
}

// unanswered is an error of Send or Lookup that is none of the answers.
func (u *operationRun[Req, Res]) unanswered(ctx context.Context, err error, looked bool) error {
	if !looked && u.o.KeyTTL == 0 && u.o.Lookup == nil {
		return u.giveUp(ctx, fmt.Errorf("%w: %w", ErrUnanswered, err))
	}
	return errors.Join(fmt.Errorf("operation %q: unanswered: %w", u.k.ID, &dialect.ForeignError{Err: err}), u.note(ctx, u.row.state, err.Error()))
}

// note saves what is known, for people and for the next attempt. A job that loses its lease, or a worker that stops, saves it
// all the same.
func (u *operationRun[Req, Res]) note(ctx context.Context, state State, reason string) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer stop()
	return u.r.short(ctx, u.k, false, func(ctx context.Context, s Session) error {
		_, err := s.Change(ctx, u.r.sql["op_note"], []any{string(state), clipped(reason), u.r.scope(u.k.Scope), u.k.ID, u.row.calls})
		return err
	})
}

const noteTime = 5 * time.Second

// giveUp leaves the operation to a person.
func (u *operationRun[Req, Res]) giveUp(ctx context.Context, why error) error {
	if u.o.KeyTTL > 0 {
		why = ErrKeyExpired
	}
	if err := u.note(ctx, StateUnknown, why.Error()); err != nil {
		return err
	}
	return waybill.Dead(fmt.Errorf("operation %q, called %d times, first at %s: %w",
		u.k.ID, u.row.calls, u.row.intended.UTC().Format(time.RFC3339), why))
}
