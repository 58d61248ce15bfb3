package receipt_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/waybillhq/waybill/receipt"
)

// An effect inside an effect of the same key would wait for itself, or on MariaDB be applied beside it.
func TestNestedSameKey(t *testing.T) {
	t.Parallel()
	each(t, some(), receipt.Options{}, func(t *testing.T, s *stand) {
		for outer, way := range s.ways() {
			n, k := s.number(), key(outer)
			_, err := way(t.Context(), k, func(ctx context.Context, x statement) (string, error) {
				again := k
				again.Token = "another"
				for inner, way := range s.ways() {
					if inner == "InTx" && s.Dialect == receipt.SQLite {
						continue // this one opens a transaction, and waits for the lock
					}
					for _, k := range []receipt.Key{k, again} {
						if _, err := way(ctx, k, never(t)); !errors.Is(err, receipt.ErrInvalid) {
							t.Errorf("%s in %s: %v", inner, outer, err)
						}
					}
				}
				return adds(n)(ctx, x)
			})
			must(t, err)
			if s.effects(t, n) != 1 || s.receiptsOf(t, k.ID) != 1 {
				t.Errorf("%s: %d effects, %d receipts", outer, s.effects(t, n), s.receiptsOf(t, k.ID))
			}
		}
	})
}

// Two effects in one transaction are InTx in Do. A second transaction would wait for a connection that the first one has.
func TestNestedSteps(t *testing.T) {
	t.Parallel()
	each(t, some(), receipt.Options{}, func(t *testing.T, s *stand) {
		if s.variant.native {
			t.Skip("the same code")
		}
		s.db.SetMaxOpenConns(1)
		first, second := s.number(), s.number()
		run := func(apply func(ctx context.Context, tx *sql.Tx) error) error {
			_, err := s.r.Do(t.Context(), key("a", "first"), func(ctx context.Context, tx *sql.Tx) error {
				if _, err := adds(first)(ctx, sqlExec(tx)); err != nil {
					return err
				}
				return apply(ctx, tx)
			})
			return err
		}
		inDo := run(func(ctx context.Context, _ *sql.Tx) error {
			_, err := s.r.Do(ctx, key("a", "second"), func(ctx context.Context, tx *sql.Tx) error {
				t.Error("a second transaction was opened")
				return nil
			})
			return err
		})
		if !errors.Is(inDo, receipt.ErrInvalid) {
			t.Errorf("Do in Do: %v", inDo)
		}
		must(t, run(func(ctx context.Context, tx *sql.Tx) error {
			_, err := s.r.InTx(ctx, tx, key("a", "second"), func(ctx context.Context, tx *sql.Tx) error {
				_, err := adds(second)(ctx, sqlExec(tx))
				return err
			})
			return err
		}))
		if s.effects(t, first) != 1 || s.effects(t, second) != 1 || s.receiptsOf(t, "a") != 2 {
			t.Errorf("%d and %d effects, %d receipts", s.effects(t, first), s.effects(t, second), s.receiptsOf(t, "a"))
		}
	})
}
