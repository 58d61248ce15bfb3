package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/receipt"
)

// migrateFlags are what `waybill migrate` is told.
type migrateFlags struct {
	databaseFlags
	dialect string
	print   bool
	only    partFlag
}

func (a *app) migrateCommand() *cobra.Command {
	f := &migrateFlags{}
	cmd := &cobra.Command{
		Use: "migrate --database URL", Short: "Make the tables for receipts and the outbox, or bring them up to this version",
		Args: between(0, 0),
		Long: `Migrate makes the tables in which receipts and operations are kept, and those of the outbox, or brings them up to what
this version needs, and says which steps it did. Give it before programs of a new version start; older ones go on working.
Twice does nothing, and two at once wait for each other. Its user must be allowed to make tables; those of workers and
relays need only SELECT, INSERT, UPDATE and DELETE.

--only receipts and --only outbox leave the other part alone. --print gives the statements instead, for people who have
migrations of their own. It needs no database.

` + databaseHelp,
		Example: `  waybill migrate --database postgres://app@db/app
  waybill migrate --only outbox --database sqlite:app.db
  waybill migrate --print --dialect mariadb > 7_waybill.sql`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.print {
				return a.printMigrations(cmd, f)
			}
			if f.dialect != "" {
				return usage(cmd, "--dialect goes with --print: a database says itself what it is")
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			return a.migrate(ctx, f)
		},
	}
	f.define(cmd)
	v := cmd.Flags()
	v.BoolVar(&f.print, "print", false, "print the statements, and change nothing")
	v.StringVar(&f.dialect, "dialect", "", "with --print: "+words(dialects()))
	v.Var(&f.only, "only", "the tables of this part: "+words(partNames()))
	completeWith(cmd, "dialect", dialects())
	completeWith(cmd, "only", partNames())
	return cmd
}

func dialects() []receipt.Dialect {
	return []receipt.Dialect{receipt.PostgreSQL, receipt.MariaDB, receipt.MySQL, receipt.SQLite}
}

// part is a group of tables with steps of its own.
type part struct {
	name    string
	steps   func(receipt.Dialect) ([]receipt.Migration, error)
	migrate func(context.Context, *sql.DB, receipt.Dialect) ([]receipt.Migration, error)
}

const partReceipts, partOutbox = "receipts", "outbox"

func partNames() []string { return []string{partReceipts, partOutbox} }

// parts are those that were asked for.
func (f *migrateFlags) parts() []part {
	o, b := f.options(), f.outboxOptions()
	var some []part
	for _, p := range []part{
		{
			partReceipts, func(d receipt.Dialect) ([]receipt.Migration, error) { return receipt.Migrations(d, o) },
			func(ctx context.Context, db *sql.DB, d receipt.Dialect) ([]receipt.Migration, error) {
				return receipt.Migrate(ctx, db, d, o)
			},
		},
		{
			partOutbox, func(d receipt.Dialect) ([]receipt.Migration, error) { return outbox.Migrations(d, b) },
			func(ctx context.Context, db *sql.DB, d receipt.Dialect) ([]receipt.Migration, error) {
				return outbox.Migrate(ctx, db, d, b)
			},
		},
	} {
		if f.only == "" || string(f.only) == p.name {
			some = append(some, p)
		}
	}
	return some
}

// partFlag is the name of a part; "" = all.
type partFlag string

func (p *partFlag) String() string { return "" }
func (p *partFlag) Type() string   { return "PART" }

func (p *partFlag) Set(s string) error {
	*p = partFlag(s)
	if s != partReceipts && s != partOutbox {
		return errors.New("want receipts or outbox")
	}
	return nil
}

// migrationObject is the object of one step.
type migrationObject struct {
	Dialect    string   `json:"dialect"`
	Step       int      `json:"step"`
	Name       string   `json:"name"`
	Statements []string `json:"statements"`
	Part       string   `json:"part"`
}

func (a *app) migrate(ctx context.Context, f *migrateFlags) error {
	db, d, err := a.openDatabase(ctx, &f.databaseFlags, asGiven)
	if err != nil {
		return err
	}
	defer db.Close()
	steps := 0
	for _, p := range f.parts() {
		done, err := p.migrate(ctx, db, d)
		if err != nil {
			return err
		}
		steps += len(done)
		for _, m := range done {
			text := fmt.Sprintf("%s: step %d (%s) done: %s\n", p.name, m.Number, m.Name, count(len(m.Statements), "statement"))
			if err := a.printMigration(migrationObject{string(d), m.Number, m.Name, m.Statements, p.name}, text); err != nil {
				return err
			}
		}
	}
	if steps == 0 {
		a.say("nothing to do: the tables are as this version needs them")
	}
	return nil
}

func (a *app) printMigrations(cmd *cobra.Command, f *migrateFlags) error {
	if f.dialect == "" {
		return usage(cmd, "give --dialect: %s", words(dialects()))
	}
	for _, p := range f.parts() {
		steps, err := p.steps(receipt.Dialect(f.dialect))
		if err != nil {
			return err
		}
		for _, m := range steps {
			text := fmt.Sprintf("-- %s, step %d: %s\n%s;\n", p.name, m.Number, m.Name, strings.Join(m.Statements, ";\n"))
			if err := a.printMigration(migrationObject{f.dialect, m.Number, m.Name, m.Statements, p.name}, text); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *app) printMigration(m migrationObject, text string) error {
	if a.json {
		return printJSON(a.stdout, m)
	}
	_, err := fmt.Fprint(a.stdout, text)
	return err
}
