package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/waybillhq/waybill/receipt"
)

// account is one case's row: a total, and how often something was added to it.
type account struct {
	db   *sql.DB
	d    receipt.Dialect
	name string
}

func (a account) create(ctx context.Context) error {
	if _, err := a.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS total_account "+
		"(name VARCHAR(64) NOT NULL PRIMARY KEY, total BIGINT NOT NULL, additions BIGINT NOT NULL)"); err != nil {
		return fmt.Errorf("make the table: %w", err)
	}
	if _, err := a.db.ExecContext(ctx, a.sql("INSERT INTO total_account VALUES (%s, 0, 0)", 1), a.name); err != nil {
		return fmt.Errorf("open account %s: %w", a.name, err)
	}
	return nil
}

// add is the effect.
func (a account) add(ctx context.Context, tx *sql.Tx, amount int64) error {
	_, err := tx.ExecContext(ctx,
		a.sql("UPDATE total_account SET total = total + %s, additions = additions + 1 WHERE name = %s", 2), amount, a.name)
	return err
}

// addAlone is the effect in a transaction of its own, without a receipt.
func (a account) addAlone(ctx context.Context, amount int64) error {
	tx, err := a.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := a.add(ctx, tx, amount); err != nil {
		return err
	}
	return tx.Commit()
}

func (a account) read(ctx context.Context) (total, additions int64, err error) {
	row := a.db.QueryRowContext(ctx, a.sql("SELECT total, additions FROM total_account WHERE name = %s", 1), a.name)
	err = row.Scan(&total, &additions)
	return total, additions, err
}

// sql fills in n placeholders.
func (a account) sql(text string, n int) string {
	marks := make([]any, n)
	for i := range marks {
		marks[i] = "?"
		if a.d == receipt.PostgreSQL {
			marks[i] = fmt.Sprintf("$%d", i+1)
		}
	}
	return fmt.Sprintf(text, marks...)
}
