package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/database"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/receipt"
)

const envDatabase = "WAYBILL_DATABASE"

// databaseHelp says how a database is named.
const databaseHelp = `The database is named by --database, by --database-file or by WAYBILL_DATABASE; a password is better kept in
one of the last two:
  postgres://USER:PASSWORD@HOST[:PORT]/DATABASE   mariadb://… or mysql://…   sqlite:///PATH or sqlite:RELATIVE`

// databaseFlags say which database, and which of its tables.
type databaseFlags struct{ url, file, tables, installation string }

func (f *databaseFlags) define(cmd *cobra.Command) {
	f.defineTables(cmd)
	cmd.PersistentFlags().StringVar(&f.installation, "installation", "", "`NAME` of the installation, where several share the database")
}

// defineTables is define for those who know no installations.
func (f *databaseFlags) defineTables(cmd *cobra.Command) {
	v := cmd.PersistentFlags()
	v.StringVar(&f.url, "database", "", "`URL` of the database (default $"+envDatabase+")")
	v.StringVar(&f.file, "database-file", "", "`PATH` of a file that holds the URL of the database")
	v.StringVar(&f.tables, "tables", "", "what the names of the tables begin with (default \"waybill_\")")
}

func (f *databaseFlags) options() receipt.Options {
	return receipt.Options{Tables: f.tables, Installation: f.installation}
}

// databaseURL gives the URL of the database.
func (a *app) databaseURL(f *databaseFlags) (string, error) {
	switch {
	case f.url != "" && f.file != "":
		return "", &usageError{"--database and --database-file exclude each other: give one"}
	case f.url != "":
		return f.url, nil
	case f.file != "":
		raw, err := os.ReadFile(f.file)
		if err != nil {
			return "", &usageError{fmt.Sprintf("--database-file: %v", err)}
		}
		if info, err := os.Stat(f.file); err == nil && info.Mode().IsRegular() && info.Mode()&othersRead != 0 {
			a.say("warning: other users can read %s: chmod 600 it", f.file)
		}
		return strings.TrimSpace(string(raw)), nil
	}
	if url := a.getenv(envDatabase); url != "" {
		return url, nil
	}
	return "", &usageError{"which database? Give --database URL, --database-file PATH or " + envDatabase}
}

// openTime bounds the connecting to a database.
const openTime = 10 * time.Second

// existing makes the URL of a SQLite file one that does not make the file: a wrong path is to be told.
func existing(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "sqlite" || u.Query().Has("mode") {
		return rawURL
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += "mode=rw"
	return u.String()
}

// asGiven is the URL as it is.
func asGiven(rawURL string) string { return rawURL }

// openDatabase opens the database that is named, by what as makes of its URL. The caller closes it.
func (a *app) openDatabase(ctx context.Context, f *databaseFlags, as func(string) string) (*sql.DB, receipt.Dialect, error) {
	rawURL, err := a.databaseURL(f)
	if err != nil {
		return nil, "", err
	}
	ctx, stop := context.WithTimeout(ctx, openTime)
	defer stop()
	return database.Open(ctx, as(rawURL))
}

// receiptsDo is what a command does with receipts.
type receiptsDo func(context.Context, *receipt.Receipts) error

// onReceipts does something with the receipts of some queues in the database that is named, which is there already.
func (a *app) onReceipts(cmd *cobra.Command, f *databaseFlags, queues []string, do receiptsDo) error {
	if err := checkQueues(queues); err != nil {
		return err
	}
	return a.onDatabase(cmd, f, func(ctx context.Context, db *sql.DB, d receipt.Dialect) error {
		r, err := receipt.New(db, d, f.options())
		if err != nil {
			return err
		}
		return do(ctx, r)
	})
}

func checkQueues(queues []string) error {
	for _, queue := range queues {
		if err := store.CheckQueue(queue); err != nil {
			return err
		}
	}
	return nil
}

// onDatabase does something with the database that is named, which is there already, until the user interrupts it.
func (a *app) onDatabase(cmd *cobra.Command, f *databaseFlags, do func(context.Context, *sql.DB, receipt.Dialect) error) error {
	db, d, err := a.openExisting(cmd, f)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, stop := interruptible(cmd)
	defer stop()
	if err = do(ctx, db, d); err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", errInterrupted, err)
	}
	return err
}

// openExisting opens the database that is named, which is there already, unless the user interrupts it. The caller closes it.
func (a *app) openExisting(cmd *cobra.Command, f *databaseFlags) (*sql.DB, receipt.Dialect, error) {
	ctx, stop := interruptible(cmd)
	defer stop()
	db, d, err := a.openDatabase(ctx, f, existing)
	if err != nil && ctx.Err() != nil {
		return nil, "", errInterrupted
	}
	return db, d, err
}
