package receipt

import (
	"context"
	"fmt"
	"time"
)

// Info is a receipt, for people.
type Info struct {
	Scope, ID   string
	Job         string
	Fingerprint []byte
	Token       string    // of the attempt that applied it
	Born        time.Time // of the job, by Redis's clock
	AppliedAt   time.Time // by the database's clock
	Result      []byte    // nil: none
}

// Find gives the receipts of a job and of its steps, or of a business key, by ID; at most 1,000. None is no error.
// Errors: ErrNoTable, else the database's.
func (r *Receipts) Find(ctx context.Context, scope, id string) ([]Info, error) {
	rows, err := r.db.QueryContext(ctx, r.sql["find"], r.scope(scope), id, id+" ", id+"!") // a step follows a space
	if err != nil {
		return nil, fmt.Errorf("find receipts of %q: %w", id, r.missing(err))
	}
	defer func() { _ = rows.Close() }()
	var all []Info
	for rows.Next() {
		i := Info{Scope: scope}
		var born, at int64
		var done bool
		if err := rows.Scan(&i.ID, &i.Token, &i.Fingerprint, &i.Job, &born, &at, &done, &i.Result); err != nil {
			return nil, fmt.Errorf("find receipts of %q: %w", id, err)
		}
		i.Born, i.AppliedAt = time.UnixMilli(born), time.UnixMilli(at)
		all = append(all, i)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("find receipts of %q: %w", id, err)
	}
	return all, nil
}

// Force lets one transaction through that ErrHorizon would refuse, for the key as Find and the error have it. Whoever forces
// says: this effect was not applied. It is used up by the transaction that commits the effect, or ends with the next purge.
// Requeue the dead job afterwards. Errors: ErrInvalid, ErrApplied where there is a receipt, ErrNoTable, else the database's.
func (r *Receipts) Force(ctx context.Context, scope, id string) error {
	k := Key{Scope: scope, ID: id, Token: "-", Fingerprint: []byte{0}, Born: time.Unix(0, 0)}
	if err := k.check(); err != nil {
		return err
	}
	if _, err := r.step(ctx, "force_add", r.scope(scope), id, r.scope(scope), id); err != nil {
		return fmt.Errorf("force %q: %w", id, r.missing(err))
	}
	all, err := r.Find(ctx, scope, id)
	if err != nil {
		return err
	}
	for _, i := range all {
		if i.ID == id {
			return fmt.Errorf("force %q, applied at %s: %w", id, i.AppliedAt.UTC().Format(time.RFC3339), ErrApplied)
		}
	}
	return nil
}
