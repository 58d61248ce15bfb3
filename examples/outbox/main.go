// Command outbox saves an order and enqueues its mail in one transaction, loses what Redis had, and brings it back. Then it
// saves an order and publishes that it was placed.
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
	"github.com/waybillhq/waybill/outbox"
)

type mail struct{ Order int }

var confirmed = waybill.Define[mail]("order.confirm", waybill.KindOptions{Queue: "orders"})

type shop struct {
	db     *sql.DB
	box    *outbox.Outbox
	client *waybill.Client
	mailed chan int
	billed chan int
}

// open opens the database, as you do, and makes the outbox's tables in it.
func open(ctx context.Context, path string, client *waybill.Client) (shop, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_pragma=synchronous(FULL)")
	if err != nil {
		return shop{}, err
	}
	if _, err := outbox.Migrate(ctx, db, outbox.SQLite, outbox.Options{}); err != nil {
		return shop{}, err
	}
	box, err := outbox.New(db, outbox.SQLite, outbox.Options{})
	if err != nil {
		return shop{}, err
	}
	_, err = db.ExecContext(ctx, "CREATE TABLE orders (number INTEGER PRIMARY KEY, cents INTEGER NOT NULL)")
	return shop{db, box, client, make(chan int), make(chan int)}, err
}

// order saves an order and enqueues its mail: both, or neither.
func (s shop) order(ctx context.Context, number, cents int) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?, ?)", number, cents); err != nil {
		return err
	}
	id := waybill.ID(fmt.Sprintf("order-%d/mail", number))
	if err := s.box.Enqueue(ctx, tx, confirmed.Request(mail{number}, id)); err != nil {
		return err
	}
	if cents < 0 {
		return errors.New("an order of less than nothing")
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	s.box.Kick() // the relay is in this process: it need not wait for its next look
	return nil
}

func (s shop) confirm(_ context.Context, job *waybill.Job[mail]) error {
	s.mailed <- job.Args.Order
	return nil
}

func main() {
	if err := run(context.Background(), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"}), "shop.db"); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, rdb *redis.Client, path string) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	s, err := open(ctx, path, client)
	if err != nil {
		return err
	}
	defer s.db.Close()
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{})
	if err != nil {
		return err
	}
	confirmed.Handle(worker, s.confirm)
	s.subscribe(worker)
	work, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 2)
	go func() { ended <- s.box.Relay(work, client) }()
	go func() { ended <- worker.Run(work) }()

	if err := s.order(ctx, 1, 500); err != nil {
		return err
	}
	fmt.Println("mail for order", <-s.mailed)
	fmt.Println("order 2:", s.order(ctx, 2, -500)) // rolled back: there will be no mail
	if err := s.loseRedis(ctx, rdb); err != nil {
		return err
	}
	if err := s.recover(ctx); err != nil {
		return err
	}
	fmt.Println("mail for order", <-s.mailed)
	if err := s.place(ctx, 4, 900); err != nil {
		return err
	}
	fmt.Println("bill for order", <-s.billed)
	stop()
	return errors.Join(<-ended, <-ended)
}

// loseRedis takes order 3 and then all that Redis knows of the queue, before the mail is sent.
func (s shop) loseRedis(ctx context.Context, rdb *redis.Client) error {
	if err := s.client.Queue("orders").Pause(ctx, "the example"); err != nil {
		return err
	}
	if err := s.order(ctx, 3, 700); err != nil {
		return err
	}
	if err := s.until(ctx, func(q outbox.QueueStats) bool { return q.Sent == 1 && q.Ended == 1 }); err != nil {
		return err
	}
	keys, err := rdb.Keys(ctx, "wb:{orders}:*").Result()
	if err != nil {
		return err
	}
	return rdb.Del(ctx, keys...).Err()
}

// recover waits until the loss is noticed, and replays.
func (s shop) recover(ctx context.Context) error {
	if err := s.until(ctx, func(q outbox.QueueStats) bool { return !q.LostAt.IsZero() }); err != nil {
		return err
	}
	done, err := s.box.Replay(ctx, s.client, outbox.ReplayOptions{})
	for _, r := range done {
		fmt.Printf("queue %s was lost: %d job sent again\n", r.Queue, r.Sent)
	}
	return err
}

// until looks at the rows of the queue until they are as they should be.
func (s shop) until(ctx context.Context, ok func(outbox.QueueStats) bool) error {
	for {
		stats, err := s.box.Stats(ctx)
		if err != nil {
			return err
		}
		for _, q := range stats.Queues {
			if ok(q) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
