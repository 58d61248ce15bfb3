package receipt

import (
	"context"
	"fmt"
	"time"
)

// CountPurge counts what Purge of that age would delete now, and changes nothing. It reads an index over all of it.
// Errors: as Purge.
func (r *Receipts) CountPurge(ctx context.Context, scope string, age time.Duration) (Purged, error) {
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
	now, err := r.now(ctx)
	if err != nil {
		return p, fmt.Errorf("count %s: %w", scope, err)
	}
	p.Before = now.Add(-age)
	for statement, n := range map[string]*int64{"purge_count": &p.Receipts, "purge_count_operations": &p.Operations} {
		row := r.db.QueryRowContext(ctx, r.sql[statement], r.scope(scope), p.Before.UnixMilli())
		if err := row.Scan(n); err != nil {
			return p, fmt.Errorf("count %s: %w", scope, r.missing(err))
		}
	}
	return p, nil
}
