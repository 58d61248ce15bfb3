package receipt

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/dialect"
)

// Ages of what Purge takes.
const (
	// DefaultPurgeAge is 30 days. A queue keeps dead jobs for 90 unless set otherwise; requeued later than this they are refused: see
	// Receipts.CheckQueue.
	DefaultPurgeAge = 30 * 24 * time.Hour
	// LeastPurgeAge is a day. Jobs younger than half of it are not compared with what was purged.
	LeastPurgeAge = 2 * horizonSlack
)

// Purged is what Purge has done to one scope.
type Purged struct {
	Scope      string
	Before     time.Time // receipts of jobs born before this are gone
	Receipts   int64
	Operations int64 // those that have an answer; others stay
}

// Scopes gives the scopes of this installation that have receipts or operations.
func (r *Receipts) Scopes(ctx context.Context) ([]string, error) {
	var all []string
	prefix := r.scope("")
	for last := prefix; ; {
		var next sql.NullString
		if err := r.db.QueryRowContext(ctx, r.sql["scopes"], last, last).Scan(&next); err != nil {
			return all, fmt.Errorf("read scopes: %w", r.missing(err))
		}
		last = next.String
		if !next.Valid || !strings.HasPrefix(last, prefix) {
			return all, nil
		}
		if name := last[len(prefix):]; !strings.Contains(name, ":") { // with a colon it is some installation's
			all = append(all, name)
		}
	}
}

// Purge deletes what is kept of jobs that were born longer than age ago, by the database's clock, in a scope; age 0 is
// DefaultPurgeAge. It first commits a mark: from then on a job that is older and has no receipt is refused with ErrHorizon.
// So a job whose first run comes later than age after it was due is refused too, and is for Force. The mark never goes
// back, and is set also where there is nothing to delete. A force that was not used ends. It deletes 1,000 rows at a time, pauses twice as long as that took, and may be broken off and repeated; told, if not nil, hears
// of each step. Errors: ErrInvalid where age is under a day or the scope can be none, ErrNoTable, else the database's.
func (r *Receipts) Purge(ctx context.Context, scope string, age time.Duration, told func(Purged)) (Purged, error) {
	p := Purged{Scope: scope}
	if age == 0 {
		age = DefaultPurgeAge
	}
	if age < LeastPurgeAge {
		return p, invalid("age", "is %s: at least %s", age, LeastPurgeAge)
	}
	if err := checkScope(scope); err != nil {
		return p, err
	}
	var now int64
	if err := r.db.QueryRowContext(ctx, r.sql["now"]).Scan(&now); err != nil {
		return p, fmt.Errorf("purge %s: %w", scope, err)
	}
	p.Before = time.UnixMilli(now).Add(-age)
	if _, err := r.step(ctx, "mark_set", r.scope(scope), p.Before.UnixMilli()); err != nil {
		return p, fmt.Errorf("purge %s: set the mark: %w", scope, r.missing(err))
	}
	if _, err := r.step(ctx, "force_clear", r.scope(scope)); err != nil {
		return p, fmt.Errorf("purge %s: end the forces: %w", scope, err)
	}
	for statement, n := range map[string]*int64{"purge": &p.Receipts, "purge_operations": &p.Operations} {
		if err := r.batches(ctx, statement, p, func(rows int64) {
			*n += rows
			if told != nil {
				told(p)
			}
		}); err != nil {
			return p, fmt.Errorf("purge %s: %w", scope, err)
		}
	}
	return p, nil
}

// batches repeats a bounded deletion until it finds nothing.
func (r *Receipts) batches(ctx context.Context, statement string, p Purged, did func(rows int64)) error {
	for {
		began := time.Now()
		rows, err := r.step(ctx, statement, r.scope(p.Scope), p.Before.UnixMilli())
		if err != nil {
			return err
		}
		if rows == 0 {
			return nil
		}
		did(rows)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Since(began)):
		}
	}
}

// step is one short transaction of an operator's, at READ COMMITTED, run again where the database asks for it.
func (r *Receipts) step(ctx context.Context, statement string, args ...any) (rows int64, err error) {
	t := dialect.Tx{Isolation: sql.LevelReadCommitted, LockTimeout: r.o.LockTimeout, IdleTimeout: r.o.IdleTimeout}
	if r.d == SQLite {
		t.Isolation = sql.LevelDefault
	}
	err = r.d.Retry(ctx, r.o.RetryFor, func(dialect.Fault, error) {}, func(ctx context.Context) error {
		return r.d.Run(ctx, r.db, t, func(ctx context.Context, tx *sql.Tx) error {
			rows, err = sqlSession{q: tx}.Change(ctx, r.sql[statement], args)
			return err
		})
	})
	return rows, err
}
