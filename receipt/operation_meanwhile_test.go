package receipt_test

import (
	"context"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
)

// What others have saved while a call was under way is not overwritten by what the call has come to.
func TestOperation_Meanwhile(t *testing.T) {
	eachOp(t, func(t *testing.T, w *opWorld) {
		resolve := func(id string, to receipt.Resolution) { must(t, w.r.Resolve(t.Context(), "q", id, to)) }
		done := receipt.Resolution{Done: []byte(`{"Charge":"ch_1"}`)}
		t.Run("a failed call with a key leaves an answer alone", func(t *testing.T) {
			_, _, err := w.try(operation{KeyTTL: time.Hour, Send: func(context.Context, call) (charged, error) {
				resolve("keyed", done)
				return charged{}, errBroken
			}}, attempt("keyed", "a"))
			wantEnd(t, err, errBroken, waybill.AttemptRetry)
			w.wantState("keyed", receipt.StateAnswered)
		})
		t.Run("a failed undeclared call takes an answer that is there by now", func(t *testing.T) {
			got, _, err := w.try(operation{Record: add, Send: func(context.Context, call) (charged, error) {
				resolve("undeclared", done)
				return charged{}, errBroken
			}}, attempt("undeclared", "a"))
			must(t, err)
			if got.Value.Charge != "ch_1" || got.Outcome != receipt.Applied {
				t.Errorf("%+v", got)
			}
			w.wantTotal(10)
		})
		t.Run("a failed undeclared call does not speak for a later one", func(t *testing.T) {
			_, _, err := w.try(operation{Send: func(context.Context, call) (charged, error) {
				w.age(31 * time.Second)
				resolve("later", receipt.Resolution{Again: "the first was never sent"})
				_, _, err := w.try(operation{Send: says(receipt.Pending(0, "taken"))}, attempt("later", "b"))
				wantEnd(t, err, receipt.ErrPending, waybill.AttemptSnoozed)
				return charged{}, errBroken
			}}, attempt("later", "a"))
			wantEnd(t, err, receipt.ErrRetry, waybill.AttemptSnoozed)
			w.wantState("later", receipt.StatePending)
		})
		t.Run("a call whose time is over before it began is not made", func(t *testing.T) {
			_, calls, err := w.try(operation{Timeout: time.Nanosecond}, attempt("slow", "a"))
			wantEnd(t, err, receipt.ErrBusy, waybill.AttemptSnoozed)
			if calls != 0 {
				t.Error("it was made")
			}
			w.wantState("slow", receipt.StateBusy)
		})
		t.Run("and it leaves no call open", func(t *testing.T) {
			_, _, err := w.try(operation{}, attempt("slow", "b"))
			must(t, err)
			w.wantState("slow", receipt.StateDone)
		})
	})
}
