package receipt

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill/internal/dialect"
)

// Level says how bad a Finding is.
type Level string

// Levels. Where something is bad an effect can be lost or a job stay undone.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn"
	LevelBad  Level = "bad"
)

// Finding is what a check has found.
type Finding struct {
	Check string // what was looked at, a word or two
	Level Level
	What  string // how it stands, and why that matters
	Do    string // what to do; "" where it is ok
}

func fine(check, format string, args ...any) Finding {
	return Finding{Check: check, Level: LevelOK, What: fmt.Sprintf(format, args...)}
}

// Check looks whether the database can hold receipts: whether it answers, has the tables that this version needs, and keeps
// what it has committed. Settings are those of this connection: another program's may differ. It changes nothing. The
// error is of the context alone: a database that does not answer is a Finding.
func (r *Receipts) Check(ctx context.Context) ([]Finding, error) {
	if _, err := r.now(ctx); err != nil {
		return []Finding{{"connection", LevelBad, err.Error(), "start the database, or mend its URL"}}, ctx.Err()
	}
	all := []Finding{fine("connection", "%s answers", r.d)}
	durable, err := r.checkDurable(ctx)
	if err != nil {
		durable = []Finding{{"durability", LevelWarn, "it can't be read: " + err.Error(), "let this user read the server's settings"}}
	}
	return append(append(all, r.checkTables(ctx)), durable...), ctx.Err()
}

func (r *Receipts) checkTables(ctx context.Context) Finding {
	const do = "waybill migrate --database URL, or receipt.Migrate, with a user that may make tables"
	steps, err := Migrations(r.d, r.o)
	if err != nil {
		return Finding{"tables", LevelBad, err.Error(), do}
	}
	var last int
	query := dialect.Fill("SELECT coalesce(max(number), 0) FROM waybill_migration WHERE part = 'receipt'", r.o.Tables)
	switch err := r.db.QueryRowContext(ctx, query).Scan(&last); {
	case err != nil && r.d.Fault(err) == dialect.Missing:
		if _, err := r.Find(ctx, "-", "-"); err == nil {
			return fine("tables", "%sreceipt is there, made by migrations of your own; step %d is the latest", r.o.Tables, len(steps))
		}
		return Finding{"tables", LevelBad, "there are none: no effect can be applied", do}
	case err != nil:
		return Finding{"tables", LevelBad, "they can't be read: " + err.Error(), do}
	case last < len(steps):
		return Finding{"tables", LevelBad, fmt.Sprintf("they are at step %d, and this version needs %d", last, len(steps)), do}
	case last > len(steps):
		return Finding{
			"tables", LevelWarn, fmt.Sprintf("they are at step %d, and this version knows %d: it is older than they are", last, len(steps)),
			"update this program",
		}
	}
	return fine("tables", "%sreceipt and the others, at step %d of %d", r.o.Tables, last, len(steps))
}

// lostWhy is why durability counts.
const lostWhy = ": a commit can be lost in a power cut after its job was settled, and then nobody does it again"

// checkDurable asks for what a commit survives.
func (r *Receipts) checkDurable(ctx context.Context) ([]Finding, error) {
	switch r.d {
	case PostgreSQL:
		return r.settings(ctx, []setting{
			{"SHOW fsync", "fsync", "on", "off", "set fsync = on"},
			{"SHOW synchronous_commit", "synchronous_commit", "", "off", "set synchronous_commit = on, at least for this user"},
		})
	case SQLite:
		return r.settings(ctx, []setting{
			{"PRAGMA journal_mode", "journal_mode", "wal", "off memory", "open it with _journal_mode=WAL"},
			{"PRAGMA synchronous", "synchronous", "", "0 1", "open it with _synchronous=FULL, which is 2"},
		})
	}
	all := []setting{{
		"SELECT @@innodb_flush_log_at_trx_commit", "innodb_flush_log_at_trx_commit", "1", "0 2", "set innodb_flush_log_at_trx_commit = 1",
	}}
	var binlog bool
	if err := r.db.QueryRowContext(ctx, "SELECT @@log_bin").Scan(&binlog); err != nil {
		return nil, err
	}
	if binlog {
		all = append(all, setting{"SELECT @@sync_binlog", "sync_binlog", "1", "", "set sync_binlog = 1: replicas may miss commits"})
	}
	return r.settings(ctx, all)
}

// setting is one of the database's, with the values that are good ("" = all others) and bad.
type setting struct{ query, name, good, bad, do string }

func (r *Receipts) settings(ctx context.Context, all []setting) ([]Finding, error) {
	var out []Finding
	for _, s := range all {
		var value string
		if err := r.db.QueryRowContext(ctx, s.query).Scan(&value); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		f := fine("durability", "%s = %s", s.name, value)
		switch {
		case contains(s.bad, value):
			f.Level, f.Do = LevelBad, s.do
			f.What += lostWhy
		case s.good != "" && s.good != value:
			f.Level, f.Do = LevelWarn, s.do
		}
		out = append(out, f)
	}
	return out, nil
}
