package receipt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/dialect"
)

// Outcome is what became of an effect.
type Outcome string

// Outcomes. All else is an error.
const (
	// Applied: by this attempt. Also where it had committed before and the answer to its commit was lost.
	Applied Outcome = "applied"
	// Replayed: by an earlier attempt. Nothing was run; the result is that of then.
	Replayed Outcome = "replayed"
)

// entered is what a transaction found of a key. new: nothing, and now there is a receipt that commits with the effect.
type entered struct {
	new    bool
	mine   bool // this attempt's
	job    string
	fp     []byte
	at     time.Time
	result []byte
}

// enter writes the receipt, first of all that the transaction does, or reads the one that is there. A rival that has
// written it and not yet ended is waited for, in the database.
func (r *Receipts) enter(ctx context.Context, s Session, k Key, held bool) (entered, error) {
	if r.d == MariaDB && held {
		if err := r.still(ctx, s); err != nil {
			return entered{}, err
		}
	}
	inserted, err := r.insert(ctx, s, k, held)
	if err != nil {
		return entered{}, fmt.Errorf("enter receipt %q: %w", k.ID, r.missing(err))
	}
	var e entered
	if inserted {
		e.new = true
	} else if e, err = r.read(ctx, s, k); err != nil {
		return entered{}, fmt.Errorf("read receipt %q: %w", k.ID, err)
	}
	if e.new && k.old(time.Now()) {
		if err := r.horizon(ctx, s, k, held); err != nil {
			return entered{}, err
		}
	}
	return e, nil
}

// still asks whether the caller's transaction goes on: a deadlock whose error was ignored has ended it, and what comes
// after would stand on its own.
func (r *Receipts) still(ctx context.Context, s Session) error {
	var in bool
	if _, err := s.QueryOne(ctx, "SELECT @@in_transaction", nil, []any{&in}); err != nil {
		return fmt.Errorf("ask for the transaction: %w", err)
	}
	if !in {
		return ErrNotInTransaction
	}
	return nil
}

// insert says whether the receipt is new for certain; on MariaDB only reading it tells.
func (r *Receipts) insert(ctx context.Context, s Session, k Key, held bool) (bool, error) {
	args := []any{r.scope(k.Scope), k.ID, k.Fingerprint, k.Token, k.Job, k.Born.UnixMilli()}
	if r.d.Family() == string(MariaDB) {
		_, err := s.Change(ctx, r.sql["insert"], args)
		return false, err
	}
	statement := "insert"
	if r.d == PostgreSQL {
		if held {
			statement = "insert_held"
		} else {
			t := r.tx()
			args = append(args, dialect.Milliseconds(t.LockTimeout), dialect.Milliseconds(t.IdleTimeout))
		}
	}
	var token string
	return s.QueryOne(ctx, r.sql[statement], args, []any{&token})
}

// read reads the receipt that is there. Its token decides whose it is. None: it was purged after the insert met it.
func (r *Receipts) read(ctx context.Context, s Session, k Key) (entered, error) {
	var e entered
	var token string
	var at int64
	var done bool
	found, err := s.QueryOne(ctx, r.sql["read"], []any{r.scope(k.Scope), k.ID}, []any{&token, &e.fp, &e.job, &at, &done, &e.result})
	if err != nil {
		return entered{}, err
	}
	if !found {
		return entered{}, dialect.ErrAgain
	}
	e.at = time.UnixMilli(at)
	e.mine = token == k.Token
	// Where the insert does not tell, a receipt of mine is new until its transaction has finished it.
	e.new = e.mine && r.d.Family() == string(MariaDB) && !done
	return e, nil
}

// horizon refuses a job of whose age receipts were purged. The mark is read after the insert and with a lock: an older
// snapshot would show an older mark.
func (r *Receipts) horizon(ctx context.Context, s Session, k Key, held bool) error {
	scope := []any{r.scope(k.Scope)}
	var before int64
	found, err := s.QueryOne(ctx, r.sql["mark"], scope, []any{&before})
	if make := r.sql["mark_make"]; err == nil && !found && make != "" {
		if !held {
			return errNoMark // made here, it would be locked until the commit, and all old jobs of the scope would wait
		}
		_, err = s.QueryOne(ctx, make, scope, []any{&before})
	}
	if err != nil {
		return fmt.Errorf("read the mark of what was purged: %w", err)
	}
	if k.Born.UnixMilli() >= before {
		return nil
	}
	used, err := s.Change(ctx, r.sql["force_use"], []any{scope[0], k.ID})
	if err != nil {
		return fmt.Errorf("look for a force: %w", err)
	}
	if used == 0 {
		return &HorizonError{Scope: k.Scope, ID: k.ID, Born: k.Born, Purged: time.UnixMilli(before)}
	}
	return nil
}

// errNoMark says that a mark is to be made, in a transaction of its own, and this one run again.
var errNoMark = fmt.Errorf("no mark: %w", dialect.ErrAgain)

// marked makes a mark where that was the error, and gives the error.
func (r *Receipts) marked(ctx context.Context, k Key, err error) error {
	if errors.Is(err, errNoMark) {
		if _, err := r.step(ctx, "mark_set", r.scope(k.Scope), int64(0)); err != nil {
			return fmt.Errorf("make the mark of %s: %w", k.Scope, err)
		}
	}
	return err
}

// finish is the last statement of a transaction that has applied something. On MariaDB it also proves that this is still
// the transaction in which the receipt was written.
func (r *Receipts) finish(ctx context.Context, s Session, k Key, result []byte) error {
	if result == nil && r.d.Family() != string(MariaDB) {
		return nil // an aborted transaction can't commit there
	}
	rows, err := s.Change(ctx, r.sql["done"], []any{result, r.scope(k.Scope), k.ID, k.Token})
	if err != nil {
		return fmt.Errorf("finish receipt %q: %w", k.ID, err)
	}
	if rows != 1 {
		return fmt.Errorf("receipt %q is no longer in the transaction: %w", k.ID, dialect.ErrAgain)
	}
	return nil
}

// known judges a receipt that was there. lost: an earlier try may have committed it, and the answer was lost.
func (r *Receipts) known(k Key, e entered, lost bool) (Outcome, error) {
	switch {
	case !bytes.Equal(e.fp, k.Fingerprint):
		return "", &MismatchError{Scope: k.Scope, ID: k.ID, Stored: e.fp, Given: k.Fingerprint, Job: e.job, AppliedAt: e.at}
	case e.mine && lost:
		return Applied, nil
	}
	return Replayed, nil
}
