package receipt_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
)

func TestOperation_Answers(t *testing.T) {
	eachOp(t, func(t *testing.T, w *opWorld) {
		t.Run("done is replayed without a call", func(t *testing.T) {
			for i, want := range []receipt.Outcome{receipt.Applied, receipt.Replayed} {
				got, calls, err := w.try(operation{}, attempt("done", string(rune('a'+i))))
				must(t, err)
				if got.Value.Charge != "payment/done" || got.Outcome != want || calls != 1-i || got.AppliedAt.IsZero() != (i == 0) {
					t.Errorf("attempt %d: %+v after %d calls", i+1, got, calls)
				}
			}
		})
		t.Run("refused is for good", func(t *testing.T) {
			for i := range 2 {
				_, calls, err := w.try(operation{Send: says(receipt.Refused("declined"))}, attempt("refused", string(rune('a'+i))))
				wantEnd(t, err, receipt.ErrRefused, waybill.AttemptDead)
				var why *receipt.RefusedError
				if !errors.As(err, &why) || why.Reason != "declined" || calls != 1-i {
					t.Errorf("attempt %d: %v after %d calls", i+1, err, calls)
				}
			}
		})
		t.Run("busy is no call: it is made again, undeclared too", func(t *testing.T) {
			_, _, err := w.try(operation{Send: says(receipt.Busy(7*time.Second, "503"))}, attempt("busy", "a"))
			wantEnd(t, err, receipt.ErrBusy, waybill.AttemptSnoozed)
			if _, after := waybill.Steers(err); after != 7*time.Second {
				t.Errorf("snoozed for %s", after)
			}
			w.wantState("busy", receipt.StateBusy)
			_, calls, err := w.try(operation{}, attempt("busy", "b"))
			must(t, err)
			if calls != 1 {
				t.Errorf("%d calls", calls)
			}
		})
		t.Run("pending is asked again by its key", func(t *testing.T) {
			o := operation{KeyTTL: time.Hour, Send: says(receipt.Pending(time.Minute, "under way"))}
			_, _, err := w.try(o, attempt("pending", "a"))
			wantEnd(t, err, receipt.ErrPending, waybill.AttemptSnoozed)
			w.wantState("pending", receipt.StatePending)
			_, calls, err := w.try(operation{KeyTTL: time.Hour}, attempt("pending", "b"))
			must(t, err)
			if calls != 1 || w.state("pending").Calls != 2 {
				t.Errorf("%d calls, %d in all", calls, w.state("pending").Calls)
			}
		})
		t.Run("unknown is a failure, and never refused", func(t *testing.T) {
			_, _, err := w.try(operation{KeyTTL: time.Hour, Send: says(errBroken)}, attempt("unknown", "a"))
			wantEnd(t, err, errBroken, waybill.AttemptRetry)
			w.wantState("unknown", receipt.StateIntended)
		})
		t.Run("the first request and key are what every later call sends", func(t *testing.T) {
			var raw [][]byte
			for i, cents := range []int{900, 901, 902} {
				o := operation{Request: charge{cents}, KeyTTL: time.Hour, Send: func(_ context.Context, c call) (charged, error) {
					raw = append(raw, c.Raw)
					if c.Request.Cents != 900 || c.IdempotencyKey != "payment/same" || c.Number != i+1 || c.IntendedAt.IsZero() {
						t.Errorf("call %d is %+v", i+1, c)
					}
					return charged{}, errBroken
				}}
				_, _, err := w.try(o, attempt("same", string(rune('a'+i))))
				wantEnd(t, err, errBroken, waybill.AttemptRetry)
			}
			if len(raw) != 3 || string(raw[0]) != `{"Cents":900}` || !bytes.Equal(raw[0], raw[1]) || !bytes.Equal(raw[0], raw[2]) {
				t.Errorf("sent %q", raw)
			}
		})
		t.Run("other work under the key is a mismatch", func(t *testing.T) {
			k := attempt("done", "c")
			k.Fingerprint = []byte("other")
			_, calls, err := w.try(operation{}, k)
			wantEnd(t, err, receipt.ErrMismatch, waybill.AttemptDead)
			if calls != 0 {
				t.Error("it was called")
			}
		})
		t.Run("a saved answer of another shape is its own error", func(t *testing.T) {
			o := receipt.Operation[charge, int]{Send: func(context.Context, call) (int, error) { return 0, errBroken }}
			_, err := o.Do(t.Context(), w.r, attempt("done", "d"))
			wantEnd(t, err, receipt.ErrResult, waybill.AttemptDead)
		})
	})
}

func TestOperation_Undeclared(t *testing.T) {
	eachOp(t, func(t *testing.T, w *opWorld) {
		t.Run("an unanswered call is for a person, and is never made again", func(t *testing.T) {
			for i := range 2 {
				_, calls, err := w.try(operation{Send: says(errBroken)}, attempt("job", string(rune('a'+i))))
				wantEnd(t, err, receipt.ErrUnanswered, waybill.AttemptDead)
				if calls != 1-i {
					t.Errorf("attempt %d: %d calls", i+1, calls)
				}
			}
			w.wantState("job", receipt.StateUnknown)
			open, err := w.r.Unfinished(t.Context(), "q")
			must(t, err)
			if len(open) != 1 || open[0].ID != "job" || open[0].Calls != 1 {
				t.Errorf("unfinished: %+v", open)
			}
		})
		t.Run("nobody gives up while another's call may be under way", func(t *testing.T) {
			first := operation{Send: func(context.Context, call) (charged, error) {
				_, _, err := w.try(operation{Send: neverSent(t)}, attempt("two", "b"))
				wantEnd(t, err, receipt.ErrBusy, waybill.AttemptSnoozed)
				w.wantState("two", receipt.StateIntended)
				w.age(31 * time.Second)
				_, _, err = w.try(operation{Send: neverSent(t)}, attempt("two", "c"))
				wantEnd(t, err, receipt.ErrUnanswered, waybill.AttemptDead)
				w.wantState("two", receipt.StateUnknown)
				return charged{"late"}, nil
			}}
			got, _, err := w.try(first, attempt("two", "a"))
			must(t, err)
			if got.Outcome != receipt.Applied || w.state("two").State != receipt.StateDone {
				t.Errorf("an answer after StateUnknown: %+v, %s", got, w.state("two").State)
			}
		})
	})
}

func TestOperation_KeyTTL(t *testing.T) {
	eachOp(t, func(t *testing.T, w *opWorld) {
		o := operation{KeyTTL: time.Hour, Send: says(errBroken)}
		_, _, err := w.try(o, attempt("job", "a"))
		wantEnd(t, err, errBroken, waybill.AttemptRetry)
		o.Send = says(receipt.Busy(0, "409"))
		_, _, err = w.try(o, attempt("job", "b"))
		wantEnd(t, err, receipt.ErrBusy, waybill.AttemptSnoozed)
		w.wantState("job", receipt.StateIntended) // of the first call nothing is known

		w.age(time.Hour - 20*time.Second) // an answer could come after the key's end
		o.Send = neverSent(t)
		_, _, err = w.try(o, attempt("job", "c"))
		wantEnd(t, err, receipt.ErrKeyExpired, waybill.AttemptDead)
		w.wantState("job", receipt.StateUnknown)

		_, _, err = w.try(operation{KeyTTL: time.Hour, Send: says(errBroken)}, attempt("looked", "a"))
		wantEnd(t, err, errBroken, waybill.AttemptRetry)
		w.age(time.Hour)
		o.Final, o.Lookup = time.Hour, says(nil)
		got, _, err := w.try(o, attempt("looked", "b"))
		must(t, err)
		if got.Outcome != receipt.Applied {
			t.Errorf("after the lookup: %+v", got)
		}
	})
}

func TestOperation_Lookup(t *testing.T) {
	eachOp(t, func(t *testing.T, w *opWorld) {
		lost := operation{Final: time.Minute, Lookup: neverSent(t), Send: says(errBroken)}
		look := operation{Final: time.Minute, Lookup: says(receipt.NotFound()), Send: neverSent(t)}
		t.Run("not found proves nothing before its time, and then the call is made", func(t *testing.T) {
			_, _, err := w.try(lost, attempt("job", "a"))
			wantEnd(t, err, errBroken, waybill.AttemptRetry)
			w.age(80 * time.Second) // timeout and Final are 90 s
			_, _, err = w.try(look, attempt("job", "b"))
			wantEnd(t, err, receipt.ErrBusy, waybill.AttemptSnoozed)
			if _, after := waybill.Steers(err); after > 11*time.Second || after < 2*time.Second {
				t.Errorf("it looks again after %s", after)
			}
			w.age(11 * time.Second)
			again := look
			again.Send = nil
			got, calls, err := w.try(again, attempt("job", "c"))
			must(t, err)
			if calls != 1 || got.Outcome != receipt.Applied || w.state("job").Calls != 2 {
				t.Errorf("%+v after %d calls", got, calls)
			}
		})
		t.Run("busy and unknown of a lookup change nothing", func(t *testing.T) {
			_, _, err := w.try(lost, attempt("asked", "a"))
			wantEnd(t, err, errBroken, waybill.AttemptRetry)
			for _, said := range []error{receipt.Busy(0, "503"), errBroken} {
				_, _, err = w.try(operation{Final: time.Minute, Lookup: says(said), Send: neverSent(t)}, attempt("asked", "b"))
				if !errors.Is(err, said) && !errors.Is(err, receipt.ErrBusy) {
					t.Error(err)
				}
				w.wantState("asked", receipt.StateIntended)
			}
			_, _, err = w.try(operation{Final: time.Minute, Lookup: says(receipt.Refused("no")), Send: neverSent(t)}, attempt("asked", "c"))
			wantEnd(t, err, receipt.ErrRefused, waybill.AttemptDead)
		})
		t.Run("what was pending and is not found is for a person", func(t *testing.T) {
			_, _, err := w.try(operation{Final: time.Minute, Lookup: neverSent(t), Send: says(receipt.Pending(0, ""))}, attempt("gone", "a"))
			wantEnd(t, err, receipt.ErrPending, waybill.AttemptSnoozed)
			w.age(time.Hour)
			_, _, err = w.try(look, attempt("gone", "b"))
			wantEnd(t, err, receipt.ErrUnanswered, waybill.AttemptDead)
			w.wantState("gone", receipt.StateUnknown)
		})
	})
}

func TestOperation_Invalid(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]operation{
		"nothing to call":            {},
		"a key shorter than a call":  {Send: neverSent(t), KeyTTL: 30 * time.Second},
		"a lookup without its Final": {Send: neverSent(t), Lookup: neverSent(t)},
		"a negative time":            {Send: neverSent(t), Timeout: -1},
	} {
		_, err := o.Do(t.Context(), nil, attempt("job", "a"))
		if !errors.Is(err, receipt.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
