package receipt_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
)

func TestOperation_Record(t *testing.T) {
	eachOp(t, func(t *testing.T, w *opWorld) {
		t.Run("the effect commits with the answer, once", func(t *testing.T) {
			for i := range 3 {
				_, _, err := w.try(operation{Record: add}, attempt("job", string(rune('a'+i))))
				must(t, err)
			}
			w.wantTotal(10)
		})
		t.Run("an effect that fails keeps the answer, and is made later without a call", func(t *testing.T) {
			errNo := errors.New("no")
			bad := operation{Record: func(ctx context.Context, tx *sql.Tx, c charged) error { return errors.Join(add(ctx, tx, c), errNo) }}
			_, calls, err := w.try(bad, attempt("later", "a"))
			wantEnd(t, err, errNo, waybill.AttemptRetry)
			w.wantState("later", receipt.StateAnswered)
			w.wantTotal(10)
			got, again, err := w.try(operation{Record: add}, attempt("later", "b"))
			must(t, err)
			if calls != 1 || again != 0 || got.Outcome != receipt.Applied || got.Value.Charge != "payment/later" {
				t.Errorf("%+v, %d and %d calls", got, calls, again)
			}
			w.wantTotal(20)
			w.wantState("later", receipt.StateDone)
		})
	})
}

func TestOperation_Rivals(t *testing.T) {
	eachOp(t, func(t *testing.T, w *opWorld) {
		t.Run("the first answer stands, and both get it", func(t *testing.T) {
			o := operation{KeyTTL: time.Hour, Record: add}
			o.Send = func(context.Context, call) (charged, error) {
				got, _, err := w.try(operation{KeyTTL: time.Hour, Record: add}, attempt("job", "b"))
				must(t, err)
				if got.Outcome != receipt.Applied {
					t.Errorf("the faster one got %+v", got)
				}
				return charged{"second"}, nil
			}
			got, _, err := w.try(o, attempt("job", "a"))
			must(t, err)
			if got.Outcome != receipt.Replayed || got.Value.Charge != "payment/job" {
				t.Errorf("the slower one got %+v", got)
			}
			w.wantTotal(10)
		})
		t.Run("an answer that comes after the lease was lost is kept", func(t *testing.T) {
			ctx, lose := context.WithCancel(t.Context())
			o := operation{Record: add, Send: func(context.Context, call) (charged, error) {
				lose()
				return charged{"late"}, nil
			}}
			_, err := o.Do(ctx, w.r, attempt("late", "a"))
			must(t, err)
			w.wantState("late", receipt.StateDone)
			w.wantTotal(20)
		})
		t.Run("a lost lease that ends the call leaves it open", func(t *testing.T) {
			ctx, lose := context.WithCancel(t.Context())
			o := operation{KeyTTL: time.Hour, Send: func(ctx context.Context, _ call) (charged, error) {
				lose()
				<-ctx.Done()
				return charged{}, ctx.Err()
			}}
			_, err := o.Do(ctx, w.r, attempt("ended", "a"))
			wantEnd(t, err, context.Canceled, waybill.AttemptRetry)
			w.wantState("ended", receipt.StateIntended)
			if got := w.state("ended").Reason; got != "context canceled" {
				t.Errorf("the reason is %q", got)
			}
		})
		t.Run("many at once make one effect", func(t *testing.T) {
			outcomes := make(chan receipt.Outcome, 8)
			for i := range cap(outcomes) {
				go func() {
					o := operation{KeyTTL: time.Hour, Record: add, Send: says(nil)}
					got, err := o.Do(t.Context(), w.r, attempt("many", string(rune('a'+i))))
					if err != nil {
						got.Outcome = receipt.Outcome(err.Error())
					}
					outcomes <- got.Outcome
				}()
			}
			var all []receipt.Outcome
			for range cap(outcomes) {
				all = append(all, <-outcomes)
			}
			slices.Sort(all)
			if all[0] != receipt.Applied || all[1] != receipt.Replayed || all[7] != receipt.Replayed {
				t.Errorf("outcomes %v", all)
			}
			w.wantTotal(30)
		})
	})
}

func TestOperation_Horizon(t *testing.T) {
	eachOp(t, func(t *testing.T, w *opWorld) {
		old := func(token string) receipt.Key {
			k := attempt("job", token)
			k.Born = time.Now().Add(-40 * 24 * time.Hour)
			return k
		}
		_, _, err := w.try(operation{}, old("a"))
		must(t, err)
		open := attempt("open", "a")
		open.Born = old("").Born
		_, _, err = w.try(operation{Send: says(errBroken)}, open)
		wantEnd(t, err, receipt.ErrUnanswered, waybill.AttemptDead)
		p, err := w.r.Purge(t.Context(), "q", 0, nil)
		must(t, err)
		if p.Operations != 1 {
			t.Errorf("%d operations purged: only those with an answer are to be", p.Operations)
		}
		w.wantState("open", receipt.StateUnknown)
		_, calls, err := w.try(operation{}, old("b"))
		wantEnd(t, err, receipt.ErrHorizon, waybill.AttemptDead)
		if left, err := w.r.FindOperations(t.Context(), "q", "job"); err != nil || len(left) != 0 || calls != 0 {
			t.Errorf("a refused operation left %+v, %v", left, err)
		}
		must(t, w.r.Force(t.Context(), "q", "job"))
		got, _, err := w.try(operation{}, old("c"))
		must(t, err)
		if got.Outcome != receipt.Applied {
			t.Errorf("forced: %+v", got)
		}
	})
}

func TestOperation_Resolve(t *testing.T) {
	eachOp(t, func(t *testing.T, w *opWorld) {
		open := func(id string) {
			_, _, err := w.try(operation{Send: says(errBroken)}, attempt(id, "a"))
			wantEnd(t, err, receipt.ErrUnanswered, waybill.AttemptDead)
		}
		resolve := func(id string, to receipt.Resolution) error { return w.r.Resolve(t.Context(), "q", id, to) }
		t.Run("done: the requeued job makes the effect and gets the result", func(t *testing.T) {
			open("done")
			must(t, resolve("done", receipt.Resolution{Done: []byte(`{"Charge":"ch_1"}`)}))
			got, _, err := w.try(operation{Send: neverSent(t), Record: add}, attempt("done", "b"))
			must(t, err)
			if got.Value.Charge != "ch_1" || got.Outcome != receipt.Applied {
				t.Errorf("%+v", got)
			}
			w.wantTotal(10)
			if err := resolve("done", receipt.Resolution{Refused: "no"}); !errors.Is(err, receipt.ErrAnswered) {
				t.Errorf("resolved away: %v", err)
			}
		})
		t.Run("done, in a wrong shape, can be mended", func(t *testing.T) {
			open("shape")
			must(t, resolve("shape", receipt.Resolution{Done: []byte(`[1]`)}))
			_, _, err := w.try(operation{Send: neverSent(t)}, attempt("shape", "b"))
			wantEnd(t, err, receipt.ErrResult, waybill.AttemptDead)
			must(t, resolve("shape", receipt.Resolution{Done: []byte(`{}`)}))
			_, _, err = w.try(operation{Send: neverSent(t)}, attempt("shape", "c"))
			must(t, err)
		})
		t.Run("refused", func(t *testing.T) {
			open("refused")
			must(t, resolve("refused", receipt.Resolution{Refused: "by the bank"}))
			_, _, err := w.try(operation{Send: neverSent(t)}, attempt("refused", "b"))
			wantEnd(t, err, receipt.ErrRefused, waybill.AttemptDead)
		})
		t.Run("again: one call, with the same key", func(t *testing.T) {
			open("again")
			must(t, resolve("again", receipt.Resolution{Again: "the bank has nothing"}))
			got, calls, err := w.try(operation{}, attempt("again", "b"))
			must(t, err)
			if calls != 1 || got.Value.Charge != "payment/again" {
				t.Errorf("%+v after %d calls", got, calls)
			}
		})
		t.Run("what is not there is not found, and nonsense is invalid", func(t *testing.T) {
			if err := resolve("none", receipt.Resolution{Again: "x"}); !errors.Is(err, receipt.ErrNotFound) {
				t.Error(err)
			}
			for _, to := range []receipt.Resolution{{}, {Done: []byte("{"), Refused: ""}, {Refused: "a", Again: "b"}} {
				if err := resolve("again", to); !errors.Is(err, receipt.ErrInvalid) {
					t.Errorf("%+v: %v", to, err)
				}
			}
		})
	})
}

func TestOperation_Steps(t *testing.T) {
	eachOp(t, func(t *testing.T, w *opWorld) {
		var log []string
		errDied := errors.New("died")
		job := func(token, dies string) error {
			for _, step := range []string{"charge", "ship"} {
				o := operation{KeyTTL: time.Hour, Send: func(_ context.Context, c call) (charged, error) {
					log = append(log, c.IdempotencyKey)
					return charged{step}, nil
				}}
				if _, err := o.Do(t.Context(), w.r, attempt("order", token, step)); err != nil {
					return err
				}
				if dies == step {
					return errDied
				}
			}
			_, err := w.r.Do(t.Context(), attempt("order", token, "mail"), func(ctx context.Context, tx *sql.Tx) error {
				return add(ctx, tx, charged{})
			})
			return err
		}
		for i, dies := range []string{"charge", "ship", "", ""} {
			if err := job(string(rune('a'+i)), dies); err != nil && !errors.Is(err, errDied) {
				t.Fatal(err)
			}
		}
		if got := strings.Join(log, " "); got != "payment/order/charge payment/order/ship" {
			t.Errorf("calls: %s", got)
		}
		w.wantTotal(10)
		all, err := w.r.FindOperations(t.Context(), "q", "order")
		if err != nil || len(all) != 2 || all[0].ID != "order charge" || all[1].ID != "order ship" {
			t.Errorf("operations %+v, %v", all, err)
		}
	})
}

// What a driver's error says of a transaction is heard also through Record.
func TestOperation_RecordRunAgain(t *testing.T) {
	eachOp(t, func(t *testing.T, w *opWorld) {
		tries := 0
		o := operation{Record: func(ctx context.Context, tx *sql.Tx, c charged) error {
			if tries++; tries < 3 {
				return errors.Join(add(ctx, tx, c), dialect.ErrAgain)
			}
			return add(ctx, tx, c)
		}}
		got, calls, err := w.try(o, attempt("job", "a"))
		must(t, err)
		if got.Outcome != receipt.Applied || calls != 1 || tries != 3 {
			t.Errorf("%+v, %d calls, %d tries", got, calls, tries)
		}
		w.wantTotal(10)
	})
}

// A deadlock ends the transaction on MariaDB; where Record ignores it, its next statements would stand alone.
func TestOperation_RecordEndsTransaction(t *testing.T) {
	t.Parallel()
	w := newOpWorld(t, sqltest.MariaDB(t), receipt.Options{})
	tries := 0
	o := operation{Record: func(ctx context.Context, tx *sql.Tx, c charged) error {
		if tries++; tries == 1 {
			if _, err := tx.ExecContext(ctx, "ROLLBACK"); err != nil { // as a deadlock does, unseen by database/sql
				return err
			}
		}
		return add(ctx, tx, c)
	}}
	got, calls, err := w.try(o, attempt("job", "a"))
	must(t, err)
	if got.Outcome != receipt.Applied || calls != 1 || tries != 2 {
		t.Errorf("%+v, %d calls, %d tries", got, calls, tries)
	}
	w.wantTotal(10)
}
