package receipt_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
)

// What one attempt learns while another looks, calls or waits is not undone by it.
func TestOperation_Overlap(t *testing.T) {
	eachOp(t, func(t *testing.T, w *opWorld) {
		looks := func(said error, meanwhile func()) operation {
			return operation{Final: time.Minute, Send: neverSent(t), Lookup: func(context.Context, call) (charged, error) {
				meanwhile()
				return charged{}, said
			}}
		}
		lose := func(id string) {
			_, _, err := w.try(operation{Final: time.Minute, Lookup: neverSent(t), Send: says(errBroken)}, attempt(id, "a"))
			wantEnd(t, err, errBroken, waybill.AttemptRetry)
			w.age(2 * time.Minute)
		}
		taken := func(id string) func() {
			return func() {
				_, _, err := w.try(looks(receipt.Pending(0, "taken"), func() {}), attempt(id, "c"))
				wantEnd(t, err, receipt.ErrPending, waybill.AttemptSnoozed)
			}
		}
		t.Run("a lookup that fails leaves what another has found pending", func(t *testing.T) {
			lose("broken")
			_, _, err := w.try(looks(errBroken, taken("broken")), attempt("broken", "b"))
			wantEnd(t, err, errBroken, waybill.AttemptRetry)
			w.wantState("broken", receipt.StatePending)
		})
		t.Run("not found makes no call where another has found it pending", func(t *testing.T) {
			lose("found")
			_, _, err := w.try(looks(receipt.NotFound(), taken("found")), attempt("found", "b"))
			wantEnd(t, err, receipt.ErrRetry, waybill.AttemptSnoozed)
			w.wantState("found", receipt.StatePending)
		})
		t.Run("pending counts also where a later call was made", func(t *testing.T) {
			_, _, err := w.try(operation{KeyTTL: time.Hour, Send: func(context.Context, call) (charged, error) {
				_, _, err := w.try(operation{KeyTTL: time.Hour, Send: says(errBroken)}, attempt("later", "b"))
				wantEnd(t, err, errBroken, waybill.AttemptRetry)
				return charged{}, receipt.Pending(0, "taken")
			}}, attempt("later", "a"))
			wantEnd(t, err, receipt.ErrPending, waybill.AttemptSnoozed)
			w.wantState("later", receipt.StatePending)
		})
		t.Run("a longer call is waited for, whatever a later one was given", func(t *testing.T) {
			_, _, err := w.try(operation{KeyTTL: 2 * time.Hour, Timeout: time.Hour, Send: func(context.Context, call) (charged, error) {
				short := operation{KeyTTL: 2 * time.Hour, Timeout: time.Second, Send: says(errBroken)}
				_, _, err := w.try(short, attempt("long", "b"))
				wantEnd(t, err, errBroken, waybill.AttemptRetry)
				w.age(30 * time.Minute)
				_, _, err = w.try(looks(receipt.NotFound(), func() {}), attempt("long", "c"))
				wantEnd(t, err, receipt.ErrBusy, waybill.AttemptSnoozed)
				return charged{}, nil
			}}, attempt("long", "a"))
			must(t, err)
		})
		t.Run("nobody gives up on what is pending while it is being asked about", func(t *testing.T) {
			o := operation{KeyTTL: time.Hour, Send: says(receipt.Pending(0, "taken"))}
			_, _, err := w.try(o, attempt("asked", "a"))
			wantEnd(t, err, receipt.ErrPending, waybill.AttemptSnoozed)
			w.age(time.Hour - 40*time.Second)
			o.Send = func(context.Context, call) (charged, error) {
				w.age(20 * time.Second)
				_, _, err := w.try(operation{KeyTTL: time.Hour, Send: neverSent(t)}, attempt("asked", "c"))
				wantEnd(t, err, receipt.ErrBusy, waybill.AttemptSnoozed)
				w.wantState("asked", receipt.StatePending)
				return charged{}, nil
			}
			_, _, err = w.try(o, attempt("asked", "b"))
			must(t, err)
		})
		t.Run("an answer that can't be kept is not told as an expired key", func(t *testing.T) {
			o := operation{KeyTTL: time.Hour, Send: func(context.Context, call) (charged, error) {
				return charged{strings.Repeat("x", receipt.MaxResult)}, nil
			}}
			for i, want := range []error{receipt.ErrTooLarge, receipt.ErrUnanswered} {
				_, calls, err := w.try(o, attempt("large", string(rune('a'+i))))
				wantEnd(t, err, want, waybill.AttemptDead)
				if calls != 1-i || !strings.Contains(err.Error(), "it was done, and its answer can't be kept") {
					t.Errorf("after %d calls: %v", calls, err)
				}
			}
		})
	})
}

// Nobody can say that nothing has happened, or will, while a call may be under way.
func TestOperation_ResolveUnderWay(t *testing.T) {
	eachOp(t, func(t *testing.T, w *opWorld) {
		for id, to := range map[string]receipt.Resolution{"again": {Again: "nothing there"}, "refused": {Refused: "nothing there"}} {
			t.Run(id, func(t *testing.T) {
				got, _, err := w.try(operation{KeyTTL: time.Hour, Send: func(context.Context, call) (charged, error) {
					wantIs(t, w.r.Resolve(t.Context(), "q", id, to), receipt.ErrUnderWay)
					return charged{"ch"}, nil
				}}, attempt(id, "a"))
				must(t, err)
				if got.Value.Charge != "ch" {
					t.Errorf("%+v", got)
				}
				_, _, err = w.try(operation{KeyTTL: time.Hour, Send: says(errBroken)}, attempt(id+" over", "a"))
				wantEnd(t, err, errBroken, waybill.AttemptRetry)
				w.age(31 * time.Second)
				must(t, w.r.Resolve(t.Context(), "q", id+" over", to))
			})
		}
	})
}
