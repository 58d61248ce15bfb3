package demo

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/waybillhq/waybill/internal/database"
	"github.com/waybillhq/waybill/internal/outside"
	"github.com/waybillhq/waybill/receipt"
)

// Ledger is what the workers have booked of the payments, in a database of their own.
type Ledger struct {
	Bookings int   `json:"bookings"`
	Payments int   `json:"payments"` // with a booking: one each
	Cents    int64 `json:"cents"`
	Charged  int64 `json:"charged"` // cents, by the gateway
	Calls    int   `json:"calls"`   // of the gateway, as they were saved
	Open     int   `json:"open"`    // calls without an answer for good
}

func ledgerURL(path string) string { return (&url.URL{Scheme: "sqlite", Path: path}).String() }

// openLedger opens the database, with receipts in it.
func openLedger(ctx context.Context, path string) (*sql.DB, *receipt.Receipts, error) {
	db, d, err := database.Open(ctx, ledgerURL(path))
	if err != nil {
		return nil, nil, err
	}
	receipts, err := receipt.New(db, d, receipt.Options{})
	return db, receipts, err
}

// ledgerTables are the tables of the ledger, beside those of the receipts. Bookings and invoices have no key of their own: if one were made
// twice, it would show. A sale is entered under the event's ID.
var ledgerTables = [...]string{
	"CREATE TABLE booking (payment TEXT NOT NULL, cents INTEGER NOT NULL)",
	"CREATE TABLE invoice (event TEXT NOT NULL, cents INTEGER NOT NULL)",
	"CREATE TABLE sale (event TEXT NOT NULL PRIMARY KEY, cents INTEGER NOT NULL)",
}

// makeLedger makes the tables.
func makeLedger(ctx context.Context, path string) error {
	db, _, err := openLedger(ctx, path)
	if err != nil {
		return err
	}
	_, err = receipt.Migrate(ctx, db, receipt.SQLite, receipt.Options{})
	for _, table := range ledgerTables {
		_, made := db.ExecContext(ctx, table)
		err = errors.Join(err, made)
	}
	return errors.Join(err, db.Close())
}

// readLedger compares the bookings with the gateway's book.
func readLedger(ctx context.Context, path string, gateway *outside.Book) (l Ledger, err error) {
	db, receipts, err := openLedger(ctx, path)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	row := db.QueryRowContext(ctx, "SELECT count(*), count(DISTINCT payment), coalesce(sum(cents), 0) FROM booking")
	if err := row.Scan(&l.Bookings, &l.Payments, &l.Cents); err != nil {
		return l, fmt.Errorf("read the bookings: %w", err)
	}
	open, err := receipts.Unfinished(ctx, queueName)
	if err != nil {
		return l, err
	}
	l.Open = len(open)
	for i := range payments {
		found, err := receipts.FindOperations(ctx, queueName, id("payment", i))
		if err != nil {
			return l, err
		}
		for _, o := range found {
			l.Calls += o.Calls
		}
	}
	for _, body := range gateway.Done() {
		var p payment
		if err := json.Unmarshal([]byte(body), &p); err != nil {
			return l, fmt.Errorf("a charge at the gateway: %w", err)
		}
		l.Charged += int64(p.Cents)
	}
	return l, nil
}

// complaints tells what is wrong, given the number of payments that finished.
func (l Ledger) complaints(paid int) (all []string) {
	if l.Bookings != l.Payments {
		all = append(all, fmt.Sprintf("%d bookings of %d payments: something was booked twice", l.Bookings, l.Payments))
	}
	if l.Payments != paid {
		all = append(all, fmt.Sprintf("%d payments finished, and %d are booked", paid, l.Payments))
	}
	if l.Cents != l.Charged {
		all = append(all, fmt.Sprintf("%d cents were charged, and %d booked", l.Charged, l.Cents))
	}
	if l.Open != 0 {
		all = append(all, fmt.Sprintf("%d calls of the gateway have no answer", l.Open))
	}
	return all
}
