package receipt_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
)

// A receipt of Do has no result: whoever asks for one later is told, and does not go on with a zero value.
func TestNoResultSaved(t *testing.T) {
	t.Parallel()
	each(t, some(), receipt.Options{}, func(t *testing.T, s *stand) {
		none := func(context.Context, *sql.Tx) error { return nil }
		k := key("a")
		_, err := s.r.Do(t.Context(), k, none)
		must(t, err)
		_, err = s.do(t.Context(), k, never(t))
		if !errors.Is(err, receipt.ErrResult) {
			t.Errorf("is %v", err)
		}
		ends(t, err, waybill.AttemptDead)
		raw, err := receipt.DoResult(t.Context(), s.r, k, func(context.Context, *sql.Tx) (json.RawMessage, error) { return nil, nil })
		if err != nil || raw.Outcome != receipt.Replayed || len(raw.Value) != 0 {
			t.Errorf("raw: %+v, %v", raw, err)
		}
		if outcome, err := s.r.Do(t.Context(), k, none); err != nil || outcome != receipt.Replayed {
			t.Errorf("Do: %s, %v", outcome, err)
		}
	})
}

// The observer is the user's code: its panic neither fails a job whose effect stands nor stops a transaction that is to be run again.
func TestObserverPanics(t *testing.T) {
	t.Parallel()
	each(t, some(), receipt.Options{Observe: func(receipt.Event) { panic("no cover") }}, func(t *testing.T, s *stand) {
		for name, way := range s.ways() {
			n, k := s.number(), key(name)
			for _, want := range []receipt.Outcome{receipt.Applied, receipt.Replayed} {
				res, err := way(t.Context(), k, adds(n))
				if err != nil || res.Outcome != want || s.effects(t, n) != 1 {
					t.Errorf("%s: %+v, %v, %d effects", name, res, err, s.effects(t, n))
				}
			}
		}
		if c := s.r.Counts(); c.Applied != 2 || c.Replayed != 2 {
			t.Errorf("counts %+v", c)
		}
	})
}
