package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/boundary"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/receipt"
	"github.com/waybillhq/waybill/test/fault/stage"
	"github.com/waybillhq/waybill/test/internal/victim"
	"github.com/waybillhq/waybill/test/internal/watched"
)

// Rhythm of relays: short, since cells wait for them.
const (
	poll = 10 * time.Millisecond
	read = 20 * time.Millisecond
)

// effects gives what handlers do: they write a row in one transaction with its receipt; or nothing, where there is no database.
func (a *actor) effects() (func(context.Context, *waybill.Attempt) error, error) {
	if a.DSN == "" {
		return func(context.Context, *waybill.Attempt) error { return nil }, nil
	}
	db, err := watched.Open(a.Driver, a.DSN, func(ctx context.Context, s watched.Step) {
		if ctx.Value(stopKey{}) != nil {
			a.stop.pass(stage.Point(s))
		}
	})
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(max(a.Jobs, 2)) // else they come and go
	d := receipt.Dialect(a.Dialect)
	r, err := receipt.New(db, d, receipt.Options{})
	if err != nil {
		return nil, err
	}
	marks := "?, ?, ?"
	if d == receipt.PostgreSQL {
		marks = "$1, $2, $3"
	}
	insert := fmt.Sprintf("%s(scope, job, token) VALUES (%s)", watched.InsertEffect, marks)
	return func(ctx context.Context, at *waybill.Attempt) error {
		key := receipt.ForAttempt(at)
		_, err := r.Do(ctx, key, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, insert, key.Scope, key.ID, key.Token)
			return err
		})
		return err
	}, nil
}

// relay carries rows until ctx ends.
func (a *actor) relay(ctx context.Context) error {
	db, err := sql.Open(a.Driver, a.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxIdleConns(8) // else they come and go
	box, err := outbox.New(db, outbox.Dialect(a.Dialect), outbox.Options{Poll: poll, Read: read, Log: a.logger()})
	if err != nil {
		return err
	}
	victim.Say(stage.Said{Up: true})
	return box.Relay(boundary.With(ctx, a.stop.watch), a.client)
}
