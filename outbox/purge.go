package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// leastAge is the least age at which rows are purged.
const leastAge = time.Second

// Purge deletes rows whose jobs were acked, cancelled or deleted longer than age ago, by the database's clock; 0 is
// Options.Keep, and least is 1 s. Rows of dead jobs stay until those are acked or deleted. It deletes 1,000 rows at a
// time, pauses twice as long as that took, and may be broken off and repeated; told, if not nil, hears after each
// step how many were deleted so far. Errors: ErrInvalid, ErrNoTable, ErrRetry, the context's, else the database's, with what
// was deleted before.
func (o *Outbox) Purge(ctx context.Context, age time.Duration, told func(deleted int64)) (int64, error) {
	before, err := o.before(ctx, age)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for {
		began := time.Now()
		n, err := o.purgeSome(ctx, before)
		if total += n; err != nil || n == 0 {
			return total, err
		}
		if told != nil {
			told(total)
		}
		wait(ctx, 2*time.Since(began), nil)
		if ctx.Err() != nil {
			return total, fmt.Errorf("purge: %w", context.Cause(ctx))
		}
	}
}

// CountPurge tells how many rows Purge would delete now. Errors: as Purge.
func (o *Outbox) CountPurge(ctx context.Context, age time.Duration) (int64, error) {
	before, err := o.before(ctx, age)
	if err != nil {
		return 0, err
	}
	var n int64
	err = o.each(ctx, o.plain(), func(scan func(...any) error) error { return scan(&n) }, "purge_count", before)
	return n, o.named(err)
}

// before is the time until which is purged, ms since 1970.
func (o *Outbox) before(ctx context.Context, age time.Duration) (int64, error) {
	if age == 0 {
		if age = o.o.Keep; age < 0 {
			return 0, invalid("age", "is 0, and rows are kept for ever: give one, of at least %s", leastAge)
		}
	}
	if age < leastAge {
		return 0, invalid("age", "is %s: at least %s", age, leastAge)
	}
	now, err := o.now(ctx)
	return now - age.Milliseconds(), err
}

// now is the time by the database's clock, ms since 1970.
func (o *Outbox) now(ctx context.Context) (ms int64, err error) {
	err = o.each(ctx, o.plain(), func(scan func(...any) error) error { return scan(&ms) }, "now")
	return ms, o.named(err)
}

func (o *Outbox) purgeSome(ctx context.Context, before int64) (int64, error) {
	if o.d.Family() != string(MariaDB) {
		n, err := o.change(ctx, o.plain(), "purge", before)
		return n, o.named(err)
	}
	total := int64(0)
	for _, state := range []int{stateAcked, stateDeleted} {
		n, err := o.change(ctx, o.plain(), "purge", state, before)
		if total += n; err != nil {
			return total, o.named(err)
		}
	}
	return total, nil
}

// purge does a step where it is due.
func (r *relay) purge(ctx context.Context) error {
	if r.o.o.Keep < 0 || time.Since(r.purged) < purgeEvery {
		return nil
	}
	before, err := r.o.before(ctx, 0)
	if err != nil {
		return err
	}
	n, err := r.o.purgeSome(ctx, before)
	if err != nil {
		return err
	}
	if n > 0 {
		r.o.o.Log.Debug("outbox: rows of ended jobs were deleted", slog.Int64(keyRows, n))
		r.o.tell(Event{Type: EventPurged, Rows: int(n)})
		return nil // and the next round another
	}
	r.purged = time.Now()
	return nil
}
