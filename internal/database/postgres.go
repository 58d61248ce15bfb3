package database

import (
	"context"
	"database/sql"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/waybillhq/waybill/internal/dialect"
)

func openPostgres(u *url.URL) (*sql.DB, error) {
	if u.Opaque != "" {
		return nil, errHost
	}
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, err
	}
	return stdlib.OpenDB(*config), nil
}

func askPostgres(ctx context.Context, db *sql.DB) (dialect.Dialect, error) {
	return dialect.PostgreSQL, db.PingContext(ctx)
}
