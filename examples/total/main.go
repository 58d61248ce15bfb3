// Command total kills workers and counts what comes of it. The job is "add 10 to the total" in a database; its worker is
// killed with SIGKILL at the worst moment, and another one carries on. With a receipt the total is 10 whenever that was.
// The ways that a receipt replaces are shown beside it, on the same Redis and database: each line is measured.
//
//	go run ./examples/total                        a Redis and a SQLite file of its own
//	go run ./examples/total -redis redis://… -database postgres://…
//
// Workers are child processes of the same program. On a database that is given the tables total_account and waybill_*
// stay behind.
package main

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"text/tabwriter"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
)

type add struct{ Amount int64 }

var addToTotal = waybill.Define[add]("total.add", waybill.KindOptions{})

// once is the handler of the promise: the receipt is written in the transaction of the effect, so both are there or neither.
// A worker may be killed on any line of it.
func (w *worker) once(ctx context.Context, job *waybill.Job[add]) error {
	w.dieAt(claimed)
	_, err := w.receipts.Do(ctx, receipt.For(job), func(ctx context.Context, tx *sql.Tx) error {
		return w.account.add(ctx, tx, job.Args.Amount)
	})
	w.dieAt(committed)
	return err // nil: the worker tells Redis that the job is done
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == childWord {
		if err := child(ctx, os.Args[2:]); err != nil {
			log.Fatal(err)
		}
		return
	}
	var o options
	flag.StringVar(&o.redis, "redis", "", "URL of a Redis; empty: a private one")
	flag.StringVar(&o.database, "database", "", "URL of a database; empty: a SQLite file in a temporary directory")
	flag.Parse()
	s, err := open(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	lines, err := s.runAll(ctx)
	show(os.Stdout, lines)
	s.close()
	if err != nil {
		log.Fatal(err)
	}
}

// line is what was measured in one case.
type line struct {
	name                       string
	deliveries, effects, total int64
	afterKill, atEnd           string // what is left in Redis
}

// show prints the table.
func show(to io.Writer, lines []line) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "case\tdeliveries\teffects\ttotal\tin Redis after the kill\tin the end")
	for _, l := range lines {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\n", l.name, l.deliveries, l.effects, l.total, l.afterKill, l.atEnd)
	}
	_ = w.Flush()
}
