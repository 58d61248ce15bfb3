package outbox

import (
	"errors"
	"fmt"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/internal/record"
)

const hardPayload = record.HardPayload

// Errors of an outbox.
var (
	// ErrInvalid: a request or an option breaks a limit that the error names.
	ErrInvalid = waybill.ErrInvalid
	// ErrConflict: the ID has a row already, for other work (another kind or payload).
	ErrConflict = waybill.ErrConflict
	// ErrRetry: the database gave the transaction up (serialization failure, deadlock, a lock not to be had, a lost
	// connection, a time limit of the server's): roll back all of it, and run it again. Of a method
	// that takes no transaction: ask again. Not where the caller's context has ended.
	ErrRetry = errors.New("roll back and run the transaction again")
	// ErrNotInTransaction: a deadlock, whose error the caller did not heed, has ended the transaction, on MariaDB; nothing was
	// written. It is an ErrRetry. A transaction that the caller ended is the driver's error, as sql.ErrTxDone.
	ErrNotInTransaction = fmt.Errorf("the transaction is over already: %w", ErrRetry)
	// ErrNoTable: the tables are not there. Run outbox.Migrate, or `waybill migrate`.
	ErrNoTable = errors.New("no outbox tables: run outbox.Migrate, or waybill migrate")
	// ErrLost: Redis lost data of a queue, and nothing was replayed yet. It is told by Event.Err and Stats.Lost; Relay goes on
	// with the other queues.
	ErrLost = errors.New("redis lost data: run waybill outbox replay")
	// ErrNotFound: none such was entered, or it was purged or discarded.
	ErrNotFound = errors.New("the outbox has no such row")
)

func invalid(field, format string, args ...any) error {
	return &record.InputError{Field: field, Why: fmt.Sprintf(format, args...)}
}

// named gives an error of the database its name.
func (o *Outbox) named(err error) error {
	if err == nil || errors.Is(err, ErrRetry) {
		return err
	}
	switch o.d.Fault(err) {
	case dialect.Missing:
		return fmt.Errorf("%w: %w", ErrNoTable, err)
	case dialect.Again, dialect.Blocked, dialect.Lost:
		return fmt.Errorf("%w: %w", ErrRetry, err)
	}
	return err
}
