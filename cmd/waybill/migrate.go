package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/receipt"
)

func (a *app) migrateCommand() *cobra.Command {
	f := &databaseFlags{}
	var dialect string
	print := false
	cmd := &cobra.Command{
		Use: "migrate --database URL", Short: "Make the tables for receipts, or bring them up to this version", Args: between(0, 0),
		Long: `Migrate makes the tables in which receipts and operations are kept, or brings them up to what this version needs, and
says which steps it did. Give it before workers of a new version start; older ones go on working. Twice does nothing,
and two at once wait for each other. Its user must be allowed to make tables; those of workers need only SELECT, INSERT,
UPDATE and DELETE.

--print gives the statements instead, for people who have migrations of their own. It needs no database.

` + databaseHelp,
		Example: "  waybill migrate --database postgres://app@db/app\n  waybill migrate --print --dialect mariadb > 7_waybill.sql",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if print {
				return a.printMigrations(cmd, receipt.Dialect(dialect), f.options())
			}
			if dialect != "" {
				return usage(cmd, "--dialect goes with --print: a database says itself what it is")
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			return a.migrate(ctx, f)
		},
	}
	f.define(cmd)
	cmd.Flags().BoolVar(&print, "print", false, "print the statements, and change nothing")
	cmd.Flags().StringVar(&dialect, "dialect", "", "with --print: "+words(dialects()))
	completeWith(cmd, "dialect", dialects())
	return cmd
}

func dialects() []receipt.Dialect {
	return []receipt.Dialect{receipt.PostgreSQL, receipt.MariaDB, receipt.MySQL, receipt.SQLite}
}

// migrationObject is the object of one step.
type migrationObject struct {
	Dialect    string   `json:"dialect"`
	Step       int      `json:"step"`
	Name       string   `json:"name"`
	Statements []string `json:"statements"`
}

func (a *app) migrate(ctx context.Context, f *databaseFlags) error {
	db, d, err := a.openDatabase(ctx, f, asGiven)
	if err != nil {
		return err
	}
	defer db.Close()
	done, err := receipt.Migrate(ctx, db, d, f.options())
	if err != nil {
		return err
	}
	for _, m := range done {
		if a.json {
			err = printJSON(a.stdout, migrationObject{string(d), m.Number, m.Name, m.Statements})
		} else {
			_, err = fmt.Fprintf(a.stdout, "step %d (%s) done: %s\n", m.Number, m.Name, count(len(m.Statements), "statement"))
		}
		if err != nil {
			return err
		}
	}
	if len(done) == 0 {
		a.say("nothing to do: the tables are as this version needs them")
	}
	return nil
}

func (a *app) printMigrations(cmd *cobra.Command, d receipt.Dialect, o receipt.Options) error {
	if d == "" {
		return usage(cmd, "give --dialect: %s", words(dialects()))
	}
	steps, err := receipt.Migrations(d, o)
	if err != nil {
		return err
	}
	for _, m := range steps {
		if a.json {
			err = printJSON(a.stdout, migrationObject{string(d), m.Number, m.Name, m.Statements})
		} else {
			_, err = fmt.Fprintf(a.stdout, "-- receipt, step %d: %s\n%s;\n", m.Number, m.Name, strings.Join(m.Statements, ";\n"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
