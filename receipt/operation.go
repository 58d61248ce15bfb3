package receipt

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/codec"
)

// Operation is a call to a system that can't join a transaction: a payment, a parcel, a mail by a provider. Each call is
// saved before it is made, and its answer before the job is settled; a redelivery goes on where the last one stopped.
//
// A call without an answer may have happened. What may be done then the caller declares, for the library can't know it:
//
//   - KeyTTL: the other side knows an idempotency key for so long, and answers it as it did the first time. The call is
//     repeated with the same key and the same request, byte for byte, as long as an answer can still come within that time.
//   - Lookup: the other side can be asked whether it happened. "Not found" is no proof while the call may still be on its way;
//     it counts only Final after the last call could have been sent. So this is at least once, made unlikely to be twice.
//   - Neither: an unanswered call ends in StateUnknown and a dead job, for a person to look into and to Resolve.
//
// With both, the key counts first and Lookup after it has expired. A key's time is counted from the intent, by the database's
// clock, and never anew but where a person says Again. An attempt that comes while the call of another may be under way waits
// for the end of that one's timeout before it gives up. The zero value of each field means: not declared, or the
// default that stands at it.
type Operation[Req, Res any] struct {
	// Request is what is asked for. What the first attempt saved is sent by all later ones too.
	Request Req
	// Send calls the other side. Its five answers: nil and the result are done; Refused is for good; Pending and Busy are to
	// be asked again later; every other error is unknown. An error that came before anything was sent may be given as Busy.
	Send func(ctx context.Context, c Call[Req]) (Res, error)
	// Timeout of one call, from when it was noted in the database; 0 = 30 s. A client that goes on sending after its context ended breaks Final and KeyTTL.
	Timeout time.Duration
	// KeyTTL is how long the other side knows an idempotency key from its first sight on; 0 = it does not.
	KeyTTL time.Duration
	// Lookup asks what became of the call; nil = it can't be asked. As Send, and NotFound.
	Lookup func(ctx context.Context, c Call[Req]) (Res, error)
	// Final is how long after the timeout of the last call NotFound is believed; required with Lookup.
	Final time.Duration
	// Record is an effect in the transaction that records the answer "done"; nil = none. As the function of Receipts.Do it must
	// return its errors, and may be run again. Where it fails the answer is kept, and the next attempt runs it without a call.
	Record func(ctx context.Context, tx *sql.Tx, res Res) error
}

// Call is what Send and Lookup get.
type Call[Req any] struct {
	IdempotencyKey string // the same for every attempt and requeue of the job
	Request        Req    // as it was saved
	Raw            []byte // its bytes, to be sent as they are where the other side compares them
	Number         int    // of this call, from 1; of the last one for Lookup
	IntendedAt     time.Time
}

const defaultTimeout = 30 * time.Second

func (o *Operation[Req, Res]) check() error {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	switch {
	case o.Send == nil:
		return invalid("Send", "is nil: there is nothing to call")
	case o.Timeout < 0 || o.KeyTTL < 0 || o.Final < 0:
		return invalid("Timeout, KeyTTL, Final", "are %s, %s, %s: none may be negative", o.Timeout, o.KeyTTL, o.Final)
	case o.KeyTTL > 0 && o.KeyTTL <= o.Timeout:
		return invalid("KeyTTL", "is %s: it must be longer than a call's timeout, %s", o.KeyTTL, o.Timeout)
	case o.Lookup != nil && o.Final == 0:
		return invalid("Final", "is 0: say how long after a call's timeout a lookup's NotFound is believed")
	}
	return nil
}

// Do makes the call once, as far as its declarations reach, and gives the answer; in a later delivery the saved one, and nothing
// is called. Two attempts at once: the first answer stands, and both get it.
// Errors: those of Receipts.Do; ErrRefused (dead), ErrPending and ErrBusy (the job is snoozed as the answer said), ErrKeyExpired
// and ErrUnanswered (dead, for a person); else Send's, which counts as a failure and is retried by the kind's policy.
func (o Operation[Req, Res]) Do(ctx context.Context, r *Receipts, k Key) (Result[Res], error) {
	began := time.Now()
	err := o.check()
	var raw []byte
	if err == nil {
		raw, err = o.encode(ctx, r, k)
	}
	if err != nil {
		return Result[Res]{}, err
	}
	run := operationRun[Req, Res]{o: o, r: r, k: k}
	err = run.do(ctx, raw)
	return ended(r, k, run.res, r.explained(err), began)
}

func (o Operation[Req, Res]) encode(ctx context.Context, r *Receipts, k Key) ([]byte, error) {
	if err := r.check(ctx, k, false); err != nil {
		return nil, err
	}
	raw, err := codec.Encode(o.Request)
	if err != nil {
		return nil, fmt.Errorf("operation %q: encode the request: %w", k.ID, err)
	}
	if raw == nil {
		raw = []byte{}
	}
	if len(raw) > maxRequest {
		return nil, invalid("request", "is %d bytes: at most %d", len(raw), maxRequest)
	}
	return raw, nil
}

const maxRequest = 1 << 20
