package dialect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
)

// Tx says how a transaction is run.
type Tx struct {
	Isolation   sql.IsolationLevel
	LockTimeout time.Duration // of a statement that waits for another transaction
	IdleTimeout time.Duration // after which the server ends a transaction whose client is silent; not on SQLite
}

// Run runs f in a transaction of its own, once. On MariaDB and MySQL the connection is in the mode autocommit=0
// meanwhile: a deadlock ends the transaction there and database/sql does not notice; what came after it would stand, even
// after a rollback. Time limits of PostgreSQL are not set here: they go with the first statement.
func (d Dialect) Run(ctx context.Context, db *sql.DB, t Tx, f func(context.Context, *sql.Tx) error) error {
	if d != MariaDB && d != MySQL {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: t.Isolation})
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		return finish(ctx, tx, f)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, d.enter(t)); err != nil {
		discard(conn)
		return fmt.Errorf("set up the session: %w", err)
	}
	committed := false
	defer func() { d.leave(ctx, conn, committed) }()
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: t.Isolation})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	err = finish(ctx, tx, f)
	committed = err == nil
	return err
}

func finish(ctx context.Context, tx *sql.Tx, f func(context.Context, *sql.Tx) error) error {
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing; also where f panics
	if err := f(ctx, tx); err != nil {
		return RollBack(ctx, tx, err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// RollBack ends a transaction that err has spoiled, and gives err; as Lost, where the connection turns out to be gone.
func RollBack(ctx context.Context, tx *sql.Tx, err error) error {
	if back := tx.Rollback(); back != nil && !errors.Is(back, sql.ErrTxDone) && ctx.Err() == nil {
		return fmt.Errorf("roll back: %w, after: %w", driver.ErrBadConn, err)
	}
	return err
}

// idleSettings are the variables by which the server ends a session whose transaction is silent. On MariaDB one that has
// locked rows and written none counts as one that only reads.
func (d Dialect) idleSettings() []string {
	if d == MySQL {
		return []string{"wait_timeout"}
	}
	return []string{"idle_write_transaction_timeout", "idle_readonly_transaction_timeout"}
}

// enter is one statement that keeps what the connection had and sets what the transaction needs.
func (d Dialect) enter(t Tx) string {
	text := fmt.Sprintf("SET @waybill_autocommit=@@autocommit, @waybill_lock=@@innodb_lock_wait_timeout, "+
		"SESSION autocommit=0, SESSION innodb_lock_wait_timeout=%d", seconds(t.LockTimeout))
	for _, idle := range d.idleSettings() {
		text += fmt.Sprintf(", @waybill_%s=@@%[1]s, SESSION %[1]s=%d", idle, seconds(t.IdleTimeout))
	}
	return text
}

// giveBack is one statement that sets the connection as it was.
func (d Dialect) giveBack() string {
	text := "SET SESSION autocommit=@waybill_autocommit, SESSION innodb_lock_wait_timeout=@waybill_lock"
	for _, idle := range d.idleSettings() {
		text += fmt.Sprintf(", SESSION %s=@waybill_%[1]s", idle)
	}
	return text
}

// leave gives the connection back as it was, or closes it. Setting autocommit commits what is open; and where the context
// has ended, or a deadlock was ignored, something may be: database/sql rolls back on its own time, and only what it knows.
func (d Dialect) leave(ctx context.Context, conn *sql.Conn, committed bool) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stop()
	statements := []string{"ROLLBACK", d.giveBack()}
	if committed {
		statements = statements[1:]
	}
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			discard(conn)
			return
		}
	}
}

// discard makes the pool close a connection instead of giving it to somebody else.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// Milliseconds is a time limit as PostgreSQL takes it; 0 would mean "never".
func Milliseconds(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }

// seconds rounds up: 0 would mean "at once" or "never".
func seconds(d time.Duration) int64 { return max(1, int64((d+time.Second-1)/time.Second)) }

// Jitter is a time within a third of d: two transactions that hold what the other one wants would else give up together.
func Jitter(d time.Duration) time.Duration { return d*5/6 + rand.N(d/3+1) }
