package main

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/outbox/pgxoutbox"
	"github.com/waybillhq/waybill/test/internal/victim"
	outboxtest "github.com/waybillhq/waybill/test/outbox"
)

// relay carries rows until ctx ends.
func relay(ctx context.Context, c *waybill.Client, o outboxtest.Orders) error {
	options := outbox.Options{
		Poll: time.Duration(o.PollMS) * time.Millisecond, Read: time.Duration(o.ReadMS) * time.Millisecond,
		Log: victim.Logger(slog.LevelError), Observe: observe,
	}
	if o.Driver == outboxtest.Pgx {
		return relayPgx(ctx, c, o.DSN, options)
	}
	db, err := sql.Open(o.Driver, o.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxIdleConns(8) // else they come and go
	box, err := outbox.New(db, outbox.Dialect(o.Dialect), options)
	if err != nil {
		return err
	}
	if o.Build == outboxtest.Whole {
		return box.Relay(ctx, c)
	}
	return relayBadly(ctx, db, box, c, o)
}

func relayPgx(ctx context.Context, c *waybill.Client, dsn string, options outbox.Options) error {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	box, err := pgxoutbox.New(pool, options)
	if err != nil {
		return err
	}
	defer box.Close()
	return box.Relay(ctx, c)
}

func observe(e outbox.Event) {
	if e.Type == outbox.EventLost {
		victim.Say(outboxtest.Said{Lost: e.Err.Error()})
	}
}
