package outbox_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/receipt"
)

func TestOutbox_Enqueue_inReceipt(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		_, err := receipt.Migrate(t.Context(), s.db, d.Dialect, receipt.Options{})
		if err == nil {
			_, err = s.db.ExecContext(t.Context(), "CREATE TABLE effect (n int)")
		}
		r, made := receipt.New(s.db, d.Dialect, receipt.Options{})
		if err = errors.Join(err, made); err != nil {
			t.Fatal(err)
		}
		do := func(id string, after error) (receipt.Outcome, error) {
			return r.Do(t.Context(), receipt.Key{Scope: "q", ID: id, Born: time.Now(), Token: rand.Text(), Fingerprint: []byte("f")}, func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, "INSERT INTO effect VALUES (1)")
				return errors.Join(err, s.box.Enqueue(ctx, tx, request("next-"+id)), after)
			})
		}
		counted := func(want int64) {
			t.Helper()
			var n int64
			if err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM effect").Scan(&n); err != nil || n != want || s.rows().New != want {
				t.Errorf("%d effects and %d rows, not %d, %v", n, s.rows().New, want, err)
			}
		}
		for range 2 {
			if _, err := do("a", nil); err != nil {
				t.Error(err)
			}
			counted(1)
		}
		no := errors.New("no")
		if _, err := do("b", no); !errors.Is(err, no) {
			t.Error(err)
		}
		counted(1)
		if d.Dialect == outbox.SQLite {
			return // nobody else writes at once there
		}
		first := s.holder(sql.LevelReadCommitted, request("next-c"))
		done := make(chan error, 1)
		go func() {
			_, err := do("c", nil)
			done <- err
		}()
		until(t, "the receipt's transaction waits for the row", func() bool { return s.db.Stats().InUse >= 2 })
		if err := first.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		var n int64
		if err := s.db.QueryRowContext(t.Context(), "SELECT count(*) FROM effect").Scan(&n); err != nil || n != 2 || s.rows().New != 2 {
			t.Errorf("%d effects, %d rows, %v", n, s.rows().New, err)
		}
	})
}
