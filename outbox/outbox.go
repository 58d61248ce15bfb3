package outbox

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill"
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

// Defaults of Options.
const (
	DefaultPoll = 100 * time.Millisecond
	DefaultRead = time.Second
	DefaultKeep = 7 * 24 * time.Hour
)

// Options of an Outbox. The zero value is good for most.
type Options struct {
	// Tables is what the tables' names begin with; "" = "waybill_". It may name a schema, as "jobs.waybill_".
	Tables string
	// MaxPayload bounds a payload, in bytes; 0 = 256 KiB, at most 8 MiB.
	MaxPayload int
	// Poll is how often a relay looks for new rows; 0 = 100 ms, from 5 ms to 1 min. A full batch is followed by the next one
	// at once, and Kick asks for a look now.
	Poll time.Duration
	// Read is how often a relay reads what became of jobs; 0 = 1 s, from 10 ms to 1 min. What was deleted or done within
	// this time before Redis lost its data may return.
	Read time.Duration
	// Keep is how long rows stay after their jobs ended, by the database's clock; 0 = 7 days, least is 1 s, negative = for
	// ever. A copy of Redis that is older than this can bring ended jobs back. The relay purges.
	Keep time.Duration
	// Notify rings, at each commit, for relays that listen: see Channel. PostgreSQL only. It costs: PostgreSQL takes one
	// lock of the whole cluster at such a commit.
	Notify bool
	// Observe is told of what a relay does, from two goroutines of each relay; nil = nobody. A panic in it is logged, and
	// nothing else.
	Observe func(Event)
	// Log gets a line for what somebody should know; nil = silent.
	Log *slog.Logger
}

// Outbox is the outbox in one database, or one of several there (Options.Tables). It is made by New. Safe for concurrent use.
type Outbox struct {
	db   *sql.DB
	d    Dialect
	o    Options
	sql  map[string]string // the statements, by name
	kick chan struct{}

	mu         sync.Mutex
	middleware []waybill.EnqueueMiddleware
}

//go:embed sql
var files embed.FS

const defaultTables = "waybill_"

// New makes an Outbox on db, which stays the caller's to close. Nothing is sent. A relay takes at most two connections of db.
// Errors: ErrInvalid.
func New(db *sql.DB, d Dialect, o Options) (*Outbox, error) {
	if db == nil {
		return nil, invalid("db", "is nil")
	}
	if err := o.check(d); err != nil {
		return nil, err
	}
	o.Tables = cmp.Or(o.Tables, defaultTables)
	o.Poll, o.Read, o.Keep = cmp.Or(o.Poll, DefaultPoll), cmp.Or(o.Read, DefaultRead), cmp.Or(o.Keep, DefaultKeep)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Outbox{db: db, d: d, o: o, sql: d.Statements(files, "sql", o.Tables), kick: make(chan struct{}, 1)}, nil
}

func (o Options) check(d Dialect) error {
	switch {
	case d.Check() != nil:
		return invalid("dialect", "is %q: one of %v", d, dialect.All())
	case !dialect.TablesOK(o.Tables):
		return invalid("tables", "is %q: at most 40 of a-z 0-9 _, not a digit first, perhaps behind a schema and a dot", o.Tables)
	case d == SQLite && strings.Contains(o.Tables, "."):
		return invalid("tables", "is %q: no schema on SQLite", o.Tables)
	case o.MaxPayload < 0 || o.MaxPayload > hardPayload:
		return invalid("max payload", "is %d bytes: from 0, which is the default, to %d", o.MaxPayload, hardPayload)
	case o.Notify && d != PostgreSQL:
		return invalid("notify", "is set: %s has nothing of the kind, only PostgreSQL", d)
	case o.Notify && len(channelOf(o.Tables)) > maxChannel:
		return invalid("tables", "is %q: with notify at most %d bytes", o.Tables, maxChannel-len(channelOf("")))
	case o.Poll != 0 && (o.Poll < 5*time.Millisecond || o.Poll > time.Minute):
		return invalid("poll", "is %s: from 5ms to 1m", o.Poll)
	case o.Read != 0 && (o.Read < 10*time.Millisecond || o.Read > time.Minute):
		return invalid("read", "is %s: from 10ms to 1m", o.Read)
	case o.Keep > 0 && o.Keep < leastAge:
		return invalid("keep", "is %s: at least %s, or negative, which is for ever", o.Keep, leastAge)
	}
	return nil
}

// Use wraps every enqueue of this outbox from now on, the first outermost: what sets headers (trace context, tenant) for a
// client does it here too. It runs when the row is written, not when it is relayed. After an error of the database what it
// answers does not count. A panic in it is the caller's, whose transaction is left as it is. Safe for concurrent use.
func (o *Outbox) Use(m ...waybill.EnqueueMiddleware) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.middleware = append(o.middleware, m...)
}

func (o *Outbox) wraps() []waybill.EnqueueMiddleware {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clip(o.middleware)
}

// Kick makes a relay of this Outbox, in this process, look for new rows now: call it after the commit. It never waits, and
// where no relay runs here it does nothing. Safe for concurrent use.
func (o *Outbox) Kick() {
	select {
	case o.kick <- struct{}{}:
	default:
	}
}

// Migration is one step of the tables' schema: numbered, with the statements that it runs. Steps are only ever added.
type Migration = dialect.Migration

// Migrations gives the steps for a dialect, for people who run migrations of their own. Only Options.Tables counts.
// Errors: ErrInvalid.
func Migrations(d Dialect, o Options) ([]Migration, error) {
	if err := o.check(d); err != nil {
		return nil, err
	}
	return dialect.ReadMigrations(files, path.Join("sql", d.Family(), "migrations"), cmp.Or(o.Tables, defaultTables))
}

// Migrate makes the tables, or brings them up to what this version needs, and gives the steps that it did: none where all
// were done. Processes that migrate at once wait for each other. Errors: ErrInvalid, else the database's.
func Migrate(ctx context.Context, db *sql.DB, d Dialect, o Options) ([]Migration, error) {
	steps, err := Migrations(d, o)
	if err != nil {
		return nil, err
	}
	return d.Migrate(ctx, db, cmp.Or(o.Tables, defaultTables), "outbox", steps)
}
