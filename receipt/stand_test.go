package receipt_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
	"github.com/waybillhq/waybill/receipt/pgxreceipt"
)

// statement runs a statement of an effect.
type statement func(ctx context.Context, query string) error

// effect is a user's function, on any driver.
type effect func(ctx context.Context, x statement) (string, error)

// way is one of the two forms: DoResult, or InTxResult in a transaction that the test holds, commits or rolls back.
type way func(ctx context.Context, k receipt.Key, f effect) (receipt.Result[string], error)

// variant is one way of keeping receipts.
type variant struct {
	name   string
	give   func(testing.TB) *sqltest.Database
	as     receipt.Dialect // another dialect than the database's own
	level  sql.IsolationLevel
	native bool // pgx without database/sql
	dsn    [2]string
}

var levels = []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}

// variants are all of them.
func variants() []variant {
	var all []variant
	for _, l := range levels {
		all = append(all,
			variant{name: "postgresql " + l.String(), give: sqltest.Postgres, level: l},
			variant{name: "pgx " + l.String(), give: sqltest.Postgres, level: l, native: true},
			variant{name: "mariadb " + l.String(), give: sqltest.MariaDB, level: l},
			variant{name: "mariadb found rows " + l.String(), give: sqltest.MariaDB, level: l, dsn: [2]string{"clientFoundRows", "true"}},
		)
	}
	return append(all,
		variant{name: "mysql's dialect", give: sqltest.MariaDB, level: sql.LevelRepeatableRead, as: receipt.MySQL},
		variant{name: "sqlite", give: sqltest.SQLite},
		variant{name: "sqlite deferred", give: deferred(sqltest.SQLite)},
		variant{name: "sqlite with cgo", give: sqltest.SQLiteCgo},
		variant{name: "sqlite with cgo deferred", give: deferred(sqltest.SQLiteCgo)})
}

// some are enough for most tests: each database at each level, every other difference once.
func some() (all []variant) {
	for _, v := range variants() {
		plain := strings.HasPrefix(v.name, "postgresql") || v.name == "mariadb "+v.level.String()
		if plain || v.level == sql.LevelRepeatableRead || v.name == "sqlite" || v.name == "sqlite with cgo deferred" {
			all = append(all, v)
		}
	}
	return all
}

// servers are those of them in which two transactions write at once.
func servers() (all []variant) {
	for _, v := range some() {
		if v.level != sql.LevelDefault {
			all = append(all, v)
		}
	}
	return all
}

// deferred takes the lock at the first statement that writes, as SQLite does unless told otherwise.
func deferred(give func(testing.TB) *sqltest.Database) func(testing.TB) *sqltest.Database {
	return func(t testing.TB) *sqltest.Database {
		d := give(t)
		d.DSN = strings.ReplaceAll(d.DSN, "&_txlock=immediate", "")
		return d
	}
}

// each runs f on a stand of each variant, at once.
func each(t *testing.T, all []variant, o receipt.Options, f func(t *testing.T, s *stand)) {
	t.Helper()
	for _, v := range all {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			f(t, v.stand(t, o))
		})
	}
}

// stand is a database with receipts and a table of effects.
type stand struct {
	*sqltest.Database
	variant variant
	dialect receipt.Dialect
	db      *sql.DB
	r       *receipt.Receipts
	pool    *pgxpool.Pool
	native  *pgxreceipt.Receipts
	next    atomic.Int64
}

func (v variant) stand(t *testing.T, o receipt.Options) *stand {
	t.Helper()
	s := v.bare(t, o)
	_, err := receipt.Migrate(t.Context(), s.db, s.dialect, o)
	must(t, err)
	// No unique key: a second effect is to be seen.
	s.run(t, "CREATE TABLE effect (n INTEGER NOT NULL)")
	s.run(t, "CREATE TABLE looked (n INTEGER NOT NULL)") // for snapshots
	return s
}

// bare is a stand without tables.
func (v variant) bare(t *testing.T, o receipt.Options) *stand {
	t.Helper()
	d := v.give(t)
	if v.dsn[0] != "" {
		d = d.With(v.dsn[0], v.dsn[1])
	}
	s := &stand{Database: d, variant: v, dialect: d.Dialect, db: d.Open(t)}
	if v.as != "" {
		s.dialect = v.as
	}
	s.db.SetMaxOpenConns(12)
	s.receipts(t, o)
	return s
}

// receipts makes other Receipts on the same database.
func (s *stand) receipts(t *testing.T, o receipt.Options) {
	t.Helper()
	o.Isolation = s.variant.level
	var err error
	if !s.variant.native {
		s.r, err = receipt.New(s.db, s.dialect, o)
		must(t, err)
		return
	}
	if s.pool == nil {
		s.pool, err = pgxpool.New(t.Context(), s.DSN)
		must(t, err)
		t.Cleanup(s.pool.Close)
	}
	native, err := pgxreceipt.New(s.pool, o)
	must(t, err)
	t.Cleanup(func() { _ = native.Close() })
	s.native, s.r = native, native.Receipts
}

func (s *stand) ways() map[string]way { return map[string]way{"Do": s.do, "InTx": s.inTx} }

func (s *stand) do(ctx context.Context, k receipt.Key, f effect) (receipt.Result[string], error) {
	if s.variant.native {
		return pgxreceipt.DoResult(ctx, s.native, k, func(ctx context.Context, tx pgx.Tx) (string, error) { return f(ctx, pgxExec(tx)) })
	}
	return receipt.DoResult(ctx, s.r, k, func(ctx context.Context, tx *sql.Tx) (string, error) { return f(ctx, sqlExec(tx)) })
}

func (s *stand) inTx(ctx context.Context, k receipt.Key, f effect) (receipt.Result[string], error) {
	return s.inTxAfter(ctx, func(statement) error { return nil }, k, f)
}

// inTxAfter is inTx in a transaction in which something else happens first.
func (s *stand) inTxAfter(ctx context.Context, before func(statement) error, k receipt.Key, f effect) (receipt.Result[string], error) {
	if s.variant.native {
		return s.inPgx(ctx, before, k, f)
	}
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: s.variant.level})
	if err != nil {
		return receipt.Result[string]{}, err
	}
	defer func() { _ = tx.Rollback() }()
	if err := before(sqlExec(tx)); err != nil {
		return receipt.Result[string]{}, err
	}
	res, err := receipt.InTxResult(ctx, s.r, tx, k, func(ctx context.Context, tx *sql.Tx) (string, error) { return f(ctx, sqlExec(tx)) })
	if err != nil {
		return res, err
	}
	return res, tx.Commit()
}

func (s *stand) inPgx(ctx context.Context, before func(statement) error, k receipt.Key, f effect) (receipt.Result[string], error) {
	iso := map[sql.IsolationLevel]pgx.TxIsoLevel{
		sql.LevelReadCommitted: pgx.ReadCommitted, sql.LevelRepeatableRead: pgx.RepeatableRead, sql.LevelSerializable: pgx.Serializable,
	}[s.variant.level]
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: iso})
	if err != nil {
		return receipt.Result[string]{}, err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if err := before(pgxExec(tx)); err != nil {
		return receipt.Result[string]{}, err
	}
	res, err := pgxreceipt.InTxResult(ctx, s.native, tx, k, func(ctx context.Context, tx pgx.Tx) (string, error) { return f(ctx, pgxExec(tx)) })
	if err != nil {
		return res, err
	}
	return res, tx.Commit(ctx)
}

func sqlExec(tx *sql.Tx) statement {
	return func(ctx context.Context, query string) error {
		_, err := tx.ExecContext(ctx, query)
		return err
	}
}

func pgxExec(tx pgx.Tx) statement {
	return func(ctx context.Context, query string) error {
		_, err := tx.Exec(ctx, query)
		return err
	}
}

// number is one that no other effect of the stand has.
func (s *stand) number() int64 { return s.next.Add(1) }

// adds is an effect that leaves a row.
func adds(n int64) effect {
	return func(ctx context.Context, x statement) (string, error) {
		return fmt.Sprint("result ", n), x(ctx, fmt.Sprint("INSERT INTO effect (n) VALUES (", n, ")"))
	}
}

// never is an effect that is not to run.
func never(t *testing.T) effect {
	return func(context.Context, statement) (string, error) {
		t.Error("the effect ran")
		return "", nil
	}
}

// effects counts the rows of an effect.
func (s *stand) effects(t *testing.T, n int64) int {
	t.Helper()
	return s.count(t, fmt.Sprint("SELECT count(*) FROM effect WHERE n = ", n))
}

func (s *stand) count(t *testing.T, question string) (n int) {
	t.Helper()
	must(t, s.db.QueryRowContext(t.Context(), question).Scan(&n))
	return n
}

func (s *stand) run(t *testing.T, statement string) {
	t.Helper()
	_, err := s.db.ExecContext(t.Context(), statement)
	must(t, err)
}

// receiptsOf counts the receipts of a job and its steps.
func (s *stand) receiptsOf(t *testing.T, id string) int {
	t.Helper()
	all, err := s.r.Find(t.Context(), "pay", id)
	must(t, err)
	return len(all)
}

var tokens atomic.Int64

// delivery is an attempt at a job, with a token of its own.
func delivery(id string) *waybill.Attempt {
	return &waybill.Attempt{
		ID: id, Queue: "pay", Kind: "add", Token: fmt.Sprint(os.Getpid(), " ", tokens.Add(1)), Payload: []byte(`{"amount":10}`), DueAt: time.Now(),
	}
}

func key(id string, step ...string) receipt.Key { return keyOf(delivery(id), step...) }

func keyOf(a *waybill.Attempt, step ...string) receipt.Key {
	k := receipt.ForAttempt(a, step...)
	k.Scope, k.Born = a.Queue, a.DueAt // as in an attempt that a worker made
	return k
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ends fails unless a handler that returns err ends its job so.
func ends(t *testing.T, err error, want waybill.AttemptOutcome) {
	t.Helper()
	if got, _ := waybill.Steers(err); got != want {
		t.Errorf("the job is %s, want %s, by: %v", got, want, err)
	}
}
