package receipt

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/runner"
)

// Errors of receipts and operations. A handler that returns them ends its job as each says.
var (
	// ErrInvalid: the key or an option breaks a limit that the error names; nothing was sent.
	ErrInvalid = record.ErrInvalid
	// ErrMismatch: the key has a receipt for other work. See MismatchError. The job is dead.
	ErrMismatch = errors.New("the receipt is for other work")
	// ErrHorizon: there is no receipt, and receipts of the job's age were purged: nobody can tell whether it was applied. See
	// HorizonError. The job is dead; Receipts.Force lets it through.
	ErrHorizon = errors.New("older than the receipts that were purged")
	// ErrRetry: the database gave the transaction up: roll back all of it. The job is snoozed for some seconds, at no failure.
	ErrRetry = errors.New("roll back and run the transaction again")
	// ErrBlocked is an ErrRetry whose transaction waited for another one's lock until its time was over. On SQLite a process
	// that was stopped inside a transaction blocks all others until it goes on or is killed.
	ErrBlocked = fmt.Errorf("blocked by another transaction: %w", ErrRetry)
	// ErrResult: the saved result can't be decoded into the type that is asked for, or none was saved. The effect stands. The
	// job is dead.
	ErrResult = errors.New("the saved result does not decode")
	// ErrTooLarge: the result is over 64 KiB; nothing was applied. The job is dead.
	ErrTooLarge = errors.New("the result is too large")
	// ErrNoTable: the tables are not there. Run receipt.Migrate, or `waybill migrate`.
	ErrNoTable = errors.New("no receipt tables: run receipt.Migrate, or waybill migrate")
	// ErrNotInTransaction: the transaction that the caller gave is over, as MariaDB ends one after a deadlock; nothing was
	// applied. It is an ErrRetry.
	ErrNotInTransaction = fmt.Errorf("the transaction is over already: %w", ErrRetry)
	// ErrApplied: there is a receipt, so the effect was applied; a force is not needed.
	ErrApplied = errors.New("there is a receipt: it was applied")
	// ErrNotFound: there is no such operation.
	ErrNotFound = errors.New("no such operation")
)

// MismatchError says that a key was used for two different pieces of work. It unwraps to ErrMismatch.
type MismatchError struct {
	Scope, ID     string
	Stored, Given []byte    // fingerprints
	Job           string    // ID of the job that was applied
	AppliedAt     time.Time // when it was, by the database's clock
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("receipt %q in %s is of job %s, applied at %s, with fingerprint %s; this one has %s: %v",
		e.ID, e.Scope, e.Job, e.AppliedAt.UTC().Format(time.RFC3339), short(e.Stored), short(e.Given), ErrMismatch)
}

// Unwrap makes errors.Is(err, ErrMismatch) true.
func (e *MismatchError) Unwrap() error { return ErrMismatch }

func short(fingerprint []byte) string {
	return hex.EncodeToString(fingerprint[:min(8, len(fingerprint))])
}

// HorizonError says that a job is older than what was purged. It unwraps to ErrHorizon.
type HorizonError struct {
	Scope, ID    string
	Born, Purged time.Time // the job's birth; receipts of jobs born before Purged are gone
}

func (e *HorizonError) Error() string {
	return fmt.Sprintf("receipt %q in %s: the job was born at %s, receipts until %s were purged: %v",
		e.ID, e.Scope, e.Born.UTC().Format(time.RFC3339), e.Purged.UTC().Format(time.RFC3339), ErrHorizon)
}

// Unwrap makes errors.Is(err, ErrHorizon) true.
func (e *HorizonError) Unwrap() error { return ErrHorizon }

// snoozed makes the error one that puts the job off for some seconds, at no failure.
func snoozed(err error) error {
	return &runner.Steer{End: runner.Snooze, Delay: 2*time.Second + rand.N(8*time.Second), Err: err}
}

// explained gives an error its name, and says how its job ends. The user's own stays as it is.
func (r *Receipts) explained(err error) error {
	fault := r.d.Fault(err)
	var gave *dialect.RetryError
	if errors.As(err, &gave) {
		fault = gave.Fault
	}
	err = dialect.Own(err)
	var steer *runner.Steer
	if err == nil || errors.As(err, &steer) { // the user said, or it was explained already
		return err
	}
	for _, final := range []error{ErrMismatch, ErrHorizon, ErrResult, ErrTooLarge} {
		if errors.Is(err, final) {
			return waybill.Dead(err)
		}
	}
	if errors.Is(err, ErrRetry) {
		return snoozed(err)
	}
	switch fault {
	case dialect.Blocked:
		return snoozed(fmt.Errorf("%w: %w", ErrBlocked, err))
	case dialect.Again, dialect.Lost:
		return snoozed(fmt.Errorf("%w: %w", ErrRetry, err))
	}
	return err
}

// missing tells where it is our tables that are not there.
func (r *Receipts) missing(err error) error {
	if err != nil && r.d.Fault(err) == dialect.Missing {
		return fmt.Errorf("%w: %w", ErrNoTable, err)
	}
	return err
}
