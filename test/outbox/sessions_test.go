package outboxtest_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/outbox/pgxoutbox"
)

// transaction is one of the application's, on its own connection.
type transaction interface {
	enqueue(ctx context.Context, ids []string) error
	note(ctx context.Context, name string, jobs int) error // the application's own row
	commit(ctx context.Context) error
	rollback(ctx context.Context)
	kill(ctx context.Context) error // its connection; nothing is committed after that
	end()
}

// bySQL is a transaction of database/sql.
type bySQL struct {
	d    dialect.Dialect
	db   *sql.DB
	box  *outbox.Outbox
	conn *sql.Conn
	tx   *sql.Tx

	cancel context.CancelFunc // of the transaction's context
	killed bool
}

func (s *stand) begin(ctx context.Context) (transaction, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		cancel()
		_ = conn.Close()
		return nil, err
	}
	return &bySQL{d: s.d.Dialect, db: s.db, box: s.box, conn: conn, tx: tx, cancel: cancel}, nil
}

func (b *bySQL) enqueue(ctx context.Context, ids []string) error {
	return b.box.Enqueue(ctx, b.tx, requests(ids)...)
}

func (b *bySQL) note(ctx context.Context, name string, jobs int) error {
	_, err := b.tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO app (tx, jobs) VALUES ('%s', %d)", name, jobs))
	return err
}

func (b *bySQL) commit(context.Context) error { return b.tx.Commit() }

func (b *bySQL) rollback(context.Context) { _ = b.tx.Rollback() }

func (b *bySQL) end() {
	b.cancel()
	if b.killed { // the server may be about to close it still: nobody else is to get it
		_ = b.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = b.conn.Close()
}

func (b *bySQL) kill(ctx context.Context) error {
	ask, kill := "SELECT pg_backend_pid()", "SELECT pg_terminate_backend(%d)"
	switch b.d {
	case dialect.MariaDB:
		ask, kill = "SELECT connection_id()", "KILL %d"
	case dialect.SQLite:
		b.cancel() // there is no server that could end it
		return nil
	}
	var id int64
	if err := b.tx.QueryRowContext(ctx, ask).Scan(&id); err != nil {
		return err
	}
	b.killed = true
	_, err := b.db.ExecContext(ctx, fmt.Sprintf(kill, id))
	return err
}

// byPgx is a transaction of pgx.
type byPgx struct {
	pool *pgxpool.Pool
	box  *pgxoutbox.Outbox
	conn *pgxpool.Conn
	tx   pgx.Tx

	killed bool
}

func beginPgx(ctx context.Context, pool *pgxpool.Pool, box *pgxoutbox.Outbox) (transaction, error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		conn.Release()
		return nil, err
	}
	return &byPgx{pool: pool, box: box, conn: conn, tx: tx}, nil
}

func (b *byPgx) enqueue(ctx context.Context, ids []string) error {
	return b.box.Enqueue(ctx, b.tx, requests(ids)...)
}

func (b *byPgx) note(ctx context.Context, name string, jobs int) error {
	_, err := b.tx.Exec(ctx, "INSERT INTO app (tx, jobs) VALUES ($1, $2)", name, jobs)
	return err
}

func (b *byPgx) commit(ctx context.Context) error { return b.tx.Commit(ctx) }

func (b *byPgx) rollback(ctx context.Context) { _ = b.tx.Rollback(ctx) }

func (b *byPgx) end() {
	if b.killed {
		_ = b.conn.Hijack().Close(context.Background())
		return
	}
	b.conn.Release()
}

func (b *byPgx) kill(ctx context.Context) error {
	b.killed = true
	_, err := b.pool.Exec(ctx, "SELECT pg_terminate_backend($1)", int32(b.conn.Conn().PgConn().PID())) //nolint:gosec // as the server has it
	return err
}
