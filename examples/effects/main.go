// Command effects adds to an account in a database, once a job, though every job is delivered twice.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // or any other driver of PostgreSQL, MariaDB or SQLite

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
)

type deposit struct{ Cents int }

type order struct {
	Number int
	Cents  int
}

// invoice is the result of an order, saved with its receipt.
type invoice struct{ Invoice int64 }

var (
	options   = waybill.KindOptions{Queue: "bank", Retention: time.Hour, Retry: waybill.Fixed(10 * time.Millisecond)}
	deposited = waybill.Define[deposit]("deposit.add", options)
	ordered   = waybill.DefineResult[order, invoice]("order.invoice", options)
	paid      = waybill.Define[order]("order.paid", options)
)

var errDied = errors.New("the effect is committed, and this attempt dies before it can say so")

type bank struct {
	db       *sql.DB
	receipts *receipt.Receipts
}

// open opens the database, as you do, and makes the tables of the receipts in it.
func open(ctx context.Context, path string) (bank, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_pragma=synchronous(FULL)")
	if err != nil {
		return bank{}, err
	}
	if _, err := receipt.Migrate(ctx, db, receipt.SQLite, receipt.Options{}); err != nil {
		return bank{}, err
	}
	receipts, err := receipt.New(db, receipt.SQLite, receipt.Options{})
	if err != nil {
		return bank{}, err
	}
	_, err = db.ExecContext(ctx, `CREATE TABLE account (cents INTEGER NOT NULL);
		INSERT INTO account VALUES (0);
		CREATE TABLE invoice (number INTEGER PRIMARY KEY, ordered INTEGER NOT NULL)`)
	return bank{db, receipts}, err
}

// deposit adds to the account. Every line of it may run twice, but for the function that Do gets.
func (b bank) deposit(ctx context.Context, job *waybill.Job[deposit]) error {
	outcome, err := b.receipts.Do(ctx, receipt.For(job), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE account SET cents = cents + ?", job.Args.Cents)
		return err
	})
	fmt.Printf("deposit, attempt %d: %s\n", job.Number, outcome)
	return b.dies(err, job.Attempt)
}

// invoice has a result: the number that the database gave. A later attempt gets the same one.
func (b bank) invoice(ctx context.Context, job *waybill.Job[order]) (invoice, error) {
	made, err := receipt.DoResult(ctx, b.receipts, receipt.For(job), func(ctx context.Context, tx *sql.Tx) (invoice, error) {
		res, err := tx.ExecContext(ctx, "INSERT INTO invoice (ordered) VALUES (?)", job.Args.Number)
		if err != nil {
			return invoice{}, err
		}
		number, err := res.LastInsertId()
		return invoice{number}, err
	})
	fmt.Printf("invoice %d, attempt %d: %s\n", made.Value.Invoice, job.Number, made.Outcome)
	return made.Value, b.dies(err, job.Attempt)
}

// paid works in a transaction of its own, under a business key: no two jobs can both book that an order is paid.
func (b bank) paid(ctx context.Context, job *waybill.Job[order]) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	key := receipt.For(job).Business(fmt.Sprintf("order %d paid", job.Args.Number), job.Args.Cents)
	outcome, err := b.receipts.InTx(ctx, tx, key, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE account SET cents = cents + ?", job.Args.Cents)
		return err
	})
	if err != nil {
		return err // rolls back; a receipt.ErrRetry among the errors snoozes the job, at no failure
	}
	fmt.Printf("%s, attempt %d: %s\n", job.ID, job.Number, outcome)
	return b.dies(tx.Commit(), job.Attempt)
}

// dies makes the worst of the first attempt.
func (b bank) dies(err error, a *waybill.Attempt) error {
	if err == nil && a.Number == 1 {
		return errDied
	}
	return err
}

func main() {
	if err := run(context.Background(), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"}), "bank.db"); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, rdb *redis.Client, path string) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	b, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer b.db.Close()
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{})
	if err != nil {
		return err
	}
	deposited.Handle(worker, b.deposit)
	ordered.Handle(worker, b.invoice)
	paid.Handle(worker, b.paid)
	work, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(work) }()

	for _, id := range []string{"deposit-1", "deposit-2"} {
		if _, err := deposited.Enqueue(ctx, client, deposit{1000}, waybill.ID(id)); err != nil {
			return err
		}
		if err := deposited.Wait(ctx, client, id); err != nil {
			return err
		}
	}
	made, err := ordered.Call(ctx, client, order{Number: 17, Cents: 500})
	if err != nil {
		return err
	}
	fmt.Printf("the order has invoice %d\n", made.Invoice)
	for _, id := range []string{"from-the-shop", "from-the-bank"} { // two jobs with one meaning
		if _, err := paid.Enqueue(ctx, client, order{Number: 17, Cents: 500}, waybill.ID(id)); err != nil {
			return err
		}
		if err := paid.Wait(ctx, client, id); err != nil {
			return err
		}
	}
	stop()
	if err := <-ended; err != nil {
		return err
	}
	return b.tell(ctx, client)
}

// tell shows deliveries beside effects.
func (b bank) tell(ctx context.Context, client *waybill.Client) error {
	var cents, invoices int
	row := b.db.QueryRowContext(ctx, "SELECT cents, (SELECT count(*) FROM invoice) FROM account")
	if err := row.Scan(&cents, &invoices); err != nil {
		return err
	}
	stats, err := client.Queue("bank").Stats(ctx)
	if err != nil {
		return err
	}
	counts := b.receipts.Counts()
	fmt.Printf("%d deliveries, %d effects, %d suppressed: %d cents, %d invoice\n",
		stats.Deliveries, counts.Applied, counts.Replayed, cents, invoices)
	return nil
}
