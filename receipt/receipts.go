package receipt

import (
	"cmp"
	"database/sql"
	"log/slog"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/dialect"
)

// Dialect is a kind of SQL database.
type Dialect = dialect.Dialect

// The dialects. They were tested on PostgreSQL 15, MariaDB 10.11 and SQLite; MySQL is what MariaDB shares with MySQL 8, and
// was run on MariaDB only.
const (
	PostgreSQL = dialect.PostgreSQL
	MariaDB    = dialect.MariaDB
	MySQL      = dialect.MySQL
	SQLite     = dialect.SQLite
)

// Options of Receipts. The zero value is good for most.
type Options struct {
	// Installation stands before every scope, so that two installations of Waybill may share a database. "" = none.
	// At most 64 of A-Z a-z 0-9 . _ -
	Installation string
	// Tables is what the tables' names begin with; "" = "waybill_". It may name a schema, as "jobs.waybill_".
	Tables string
	// Isolation of the transactions that Do opens; the zero value is the database's default. Every level that the database
	// has is right; SQLite has the default and sql.LevelSerializable, which is the same.
	Isolation sql.IsolationLevel
	// LockTimeout is how long a statement in a transaction that Do opens waits for another transaction; 0 = 5 s. It is
	// jittered by a sixth, and rounded up to seconds on MariaDB and MySQL. On SQLite it is the connection's busy_timeout.
	LockTimeout time.Duration
	// IdleTimeout is how long such a transaction may be silent before the server ends it, as when its process was stopped or
	// its host has gone; 0 = 30 s, as the default lease of a job. Not on SQLite.
	IdleTimeout time.Duration
	// RetryFor is how long Do runs a transaction again that the database gave up, before it snoozes the job; 0 = 1 min.
	RetryFor time.Duration
	// Observe is told of every outcome, from many goroutines; nil = nobody. A panic in it is logged, and nothing else.
	Observe func(Event)
	// Log gets a warning where a transaction is blocked, and an error where Observe panics; nil = silent.
	Log *slog.Logger
}

// Receipts are kept in one database. Safe for concurrent use.
type Receipts struct {
	db       *sql.DB
	d        Dialect
	o        Options
	sql      map[string]string // the statements, by name
	counts   counters
	prepared prepared
	writer   chan struct{} // holds whose turn it is, on SQLite
}

// New makes Receipts on db. Nothing is sent. Errors: ErrInvalid.
func New(db *sql.DB, d Dialect, o Options) (*Receipts, error) {
	if db == nil {
		return nil, invalid("db", "is nil")
	}
	if err := d.Check(); err != nil {
		return nil, invalid("dialect", "is %q: one of %v", d, dialect.All())
	}
	if err := o.check(d); err != nil {
		return nil, err
	}
	o.LockTimeout = cmp.Or(o.LockTimeout, 5*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 30*time.Second)
	o.RetryFor = cmp.Or(o.RetryFor, time.Minute)
	o.Tables = cmp.Or(o.Tables, defaultTables)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Receipts{db: db, d: d, o: o, sql: d.Statements(files, "sql", o.Tables), writer: make(chan struct{}, 1)}, nil
}

func (o Options) check(d Dialect) error {
	if d == SQLite && strings.Contains(o.Tables, ".") {
		return invalid("tables", "is %q: no schema on SQLite", o.Tables)
	}
	if len(o.Installation) > 64 || !dialect.Plain(o.Installation, "-") {
		return invalid("installation", "is %q: at most 64 of A-Z a-z 0-9 . _ -", o.Installation)
	}
	if !dialect.TablesOK(o.Tables) {
		return invalid("tables", "is %q: at most 40 of a-z 0-9 _, not a digit first, perhaps behind a schema and a dot", o.Tables)
	}
	if o.Isolation < sql.LevelDefault || o.Isolation > sql.LevelSerializable || o.Isolation == sql.LevelWriteCommitted ||
		o.Isolation == sql.LevelSnapshot || d == SQLite && o.Isolation != sql.LevelDefault && o.Isolation != sql.LevelSerializable {
		return invalid("isolation", "is %s, which %s has not", o.Isolation, d)
	}
	for field, d := range map[string]time.Duration{
		"lock timeout": o.LockTimeout, "idle timeout": o.IdleTimeout, "retry for": o.RetryFor,
	} {
		if d < 0 || d > 24*time.Hour {
			return invalid(field, "is %s: from 0, which is the default, to 24h", d)
		}
	}
	return nil
}

// scope is a key's scope as it is stored.
func (r *Receipts) scope(name string) string {
	if r.o.Installation == "" {
		return name
	}
	return r.o.Installation + ":" + name // no queue's name has a colon
}

func (r *Receipts) tx() dialect.Tx {
	return dialect.Tx{
		Isolation: r.o.Isolation, LockTimeout: dialect.Jitter(r.o.LockTimeout), IdleTimeout: r.o.IdleTimeout,
	}
}
