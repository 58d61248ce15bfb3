package receipt

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"
)

// prepared are the statements that Do sends each time, by their text. Nil where they are not, or not yet.
type prepared struct {
	all atomic.Pointer[map[string]*sql.Stmt]
	mu  sync.Mutex // of who prepares them
}

// statements gives them. pgx keeps what it has prepared by itself, and the other drivers would prepare them each time. They
// are not for a caller's transaction, which may be of another pool. Where they can't be prepared now, one goes without.
func (r *Receipts) statements(ctx context.Context) map[string]*sql.Stmt {
	if all := r.prepared.all.Load(); all != nil {
		return *all
	}
	if r.d == PostgreSQL || !r.prepared.mu.TryLock() {
		return nil
	}
	defer r.prepared.mu.Unlock()
	all := map[string]*sql.Stmt{}
	for _, name := range []string{"insert", "read", "done"} {
		s, err := r.db.PrepareContext(ctx, r.sql[name]) //nolint:sqlclosecheck // it ends with the caller's database
		if err != nil {
			for _, s := range all {
				_ = s.Close()
			}
			return nil
		}
		all[r.sql[name]] = s
	}
	r.prepared.all.Store(&all)
	return all
}

// turn waits for the transactions of this process on SQLite, which has one writer: whoever finds it locked sleeps ever longer.
// It waits no longer than for a lock, and then tries it: a slow effect is to block others no more than without this.
func (r *Receipts) turn(ctx context.Context) (leave func()) {
	if r.d != SQLite {
		return func() {}
	}
	most := time.NewTimer(r.o.LockTimeout)
	defer most.Stop()
	select {
	case r.writer <- struct{}{}:
		return func() { <-r.writer }
	case <-most.C:
	case <-ctx.Done():
	}
	return func() {}
}
