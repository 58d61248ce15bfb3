package receipt_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
)

// hasty are servers that look for deadlocks soon.
func hasty() []variant {
	all := servers()
	for i := range all {
		if strings.HasPrefix(all[i].name, "p") { // PostgreSQL waits for a second
			all[i].dsn = [2]string{"deadlock_timeout", "50ms"}
		}
	}
	return all
}

// crossing are two effects that lock two rows in opposite order, and so deadlock when they first run.
func (s *stand) crossing(t *testing.T) [2]effect {
	t.Helper()
	s.run(t, "CREATE TABLE account (id INTEGER PRIMARY KEY, total INTEGER NOT NULL)")
	s.run(t, "INSERT INTO account VALUES (0, 0), (1, 0)")
	_, err := s.do(t.Context(), key("first"), adds(s.number())) // the first in a scope makes its mark, and others wait for it
	must(t, err)
	var both sync.WaitGroup
	both.Add(2)
	one := func(first, second int) effect {
		runs := 0
		return func(ctx context.Context, x statement) (string, error) {
			runs++
			if err := x(ctx, fmt.Sprint("UPDATE account SET total = total + 10 WHERE id = ", first)); err != nil {
				return "", err
			}
			if runs == 1 {
				both.Done()
				both.Wait()
			}
			return "", x(ctx, fmt.Sprint("UPDATE account SET total = total + 10 WHERE id = ", second))
		}
	}
	return [2]effect{one(0, 1), one(1, 0)}
}

// together runs both, and gives their errors.
func together(ctx context.Context, w way, effects [2]effect) (errs [2]error) {
	var all sync.WaitGroup
	for i, f := range effects {
		all.Go(func() { _, errs[i] = w(ctx, key(fmt.Sprint("job-", i)), f) })
	}
	all.Wait()
	return errs
}

func TestDeadlock(t *testing.T) {
	t.Parallel()
	t.Run("in Do it is run again", func(t *testing.T) {
		t.Parallel()
		each(t, hasty(), receipt.Options{}, func(t *testing.T, s *stand) {
			errs := together(t.Context(), s.do, s.crossing(t))
			must(t, errors.Join(errs[:]...))
			if got := s.r.Counts(); got.Retried == 0 || got.Applied != 3 || s.count(t, "SELECT sum(total) FROM account") != 40 {
				t.Errorf("counts %+v, sum %d", got, s.count(t, "SELECT sum(total) FROM account"))
			}
		})
	})
	t.Run("in the caller's transaction it snoozes the job", func(t *testing.T) {
		t.Parallel()
		each(t, hasty(), receipt.Options{}, func(t *testing.T, s *stand) {
			errs := together(t.Context(), s.inTx, s.crossing(t))
			if errs[0] == nil {
				errs[0], errs[1] = errs[1], errs[0]
			}
			if !errors.Is(errs[0], receipt.ErrRetry) || errs[1] != nil || s.count(t, "SELECT sum(total) FROM account") != 20 {
				t.Errorf("%v, %v", errs[0], errs[1])
			}
			ends(t, errs[0], waybill.AttemptSnoozed)
		})
	})
}

// The rival's receipt is not in the snapshot.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	each(t, some(), receipt.Options{}, func(t *testing.T, s *stand) {
		if strings.Contains(s.DSN, "immediate") {
			t.Skip("a transaction that holds the write lock has no rival")
		}
		n := s.number()
		res, err := s.inTxAfter(t.Context(), func(x statement) error {
			if err := x(t.Context(), "SELECT count(*) FROM looked"); err != nil {
				return err
			}
			_, err := s.do(t.Context(), key("a"), adds(n))
			return err
		}, key("a"), never(t))
		conflict := s.Dialect == receipt.PostgreSQL && s.variant.level != sql.LevelReadCommitted || s.Dialect == receipt.SQLite
		switch {
		case conflict && !errors.Is(err, receipt.ErrRetry), !conflict && (err != nil || res.Outcome != receipt.Replayed):
			t.Errorf("%+v, %v", res, err)
		case conflict:
			ends(t, err, waybill.AttemptSnoozed)
		}
		if s.effects(t, n) != 1 {
			t.Errorf("%d effects", s.effects(t, n))
		}
	})
}

// impatient waits only shortly for locks.
func impatient(all []variant) []variant {
	for i := range all {
		give := all[i].give
		all[i].give = func(t testing.TB) *sqltest.Database {
			d := give(t)
			d.DSN = strings.ReplaceAll(d.DSN, "busy_timeout=5000", "busy_timeout=50")
			return d
		}
	}
	return all
}

func TestBlocked(t *testing.T) {
	t.Parallel()
	each(t, impatient(some()), receipt.Options{LockTimeout: 50 * time.Millisecond}, func(t *testing.T, s *stand) {
		n, release, inside := s.number(), make(chan struct{}), make(chan struct{})
		held := make(chan error, 1)
		go func() {
			_, err := s.do(t.Context(), key("a"), func(ctx context.Context, x statement) (string, error) {
				value, err := adds(n)(ctx, x)
				close(inside)
				<-release
				return value, err
			})
			held <- err
		}()
		<-inside
		if s.Dialect == receipt.PostgreSQL || s.Dialect == receipt.MariaDB {
			limit := map[receipt.Dialect]string{
				receipt.PostgreSQL: "SET LOCAL lock_timeout = '50ms'", receipt.MariaDB: "SET SESSION innodb_lock_wait_timeout = 1",
			}[s.Dialect]
			_, err := s.inTxAfter(t.Context(), func(x statement) error { return x(t.Context(), limit) }, key("a"), never(t))
			if !errors.Is(err, receipt.ErrBlocked) || !errors.Is(err, receipt.ErrRetry) || s.r.Counts().Blocked != 1 {
				t.Errorf("held by the caller: %v", err)
			}
			ends(t, err, waybill.AttemptSnoozed)
		}
		s.receipts(t, receipt.Options{LockTimeout: 50 * time.Millisecond, RetryFor: time.Nanosecond})
		_, err := s.do(t.Context(), key("a"), never(t))
		if !errors.Is(err, receipt.ErrBlocked) || s.r.Counts().Blocked != 1 {
			t.Errorf("%v, counts %+v", err, s.r.Counts())
		}
		ends(t, err, waybill.AttemptSnoozed)

		var once sync.Once
		s.receipts(t, receipt.Options{LockTimeout: 50 * time.Millisecond, Observe: func(e receipt.Event) {
			if e.Type == receipt.EventBlocked && e.ID == "a" && e.Err != nil {
				once.Do(func() { close(release) })
			}
		}})
		res, err := s.do(t.Context(), key("a"), never(t))
		if err != nil || res.Outcome != receipt.Replayed {
			t.Errorf("after it was let go: %+v, %v", res, err)
		}
		must(t, <-held)
		if s.effects(t, n) != 1 {
			t.Errorf("%d effects", s.effects(t, n))
		}
	})
}
