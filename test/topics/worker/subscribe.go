package main

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/database"
	"github.com/waybillhq/waybill/receipt"
	"github.com/waybillhq/waybill/test/internal/victim"
	topictest "github.com/waybillhq/waybill/test/topics"
	"github.com/waybillhq/waybill/topic"
)

type handler func(context.Context, *waybill.Attempt) error

var errFails = errors.New("this subscription fails")

// subscriber works a subscription off.
type subscriber struct {
	topictest.Orders

	trap   *trap
	rdb    *redis.Client
	client *waybill.Client
}

func (s subscriber) run(ctx context.Context) error {
	w, err := waybill.NewWorker(s.client, waybill.WorkerOptions{Lease: s.Lease, Logger: victim.Logger(slog.LevelError)})
	if err != nil {
		return err
	}
	handle := s.handle
	if s.Database != "" {
		db, effect, err := openEffects(ctx, s.Database, s.Concurrency)
		if err != nil && ctx.Err() != nil {
			return nil // it was to end before it had begun
		}
		if err != nil {
			return err
		}
		defer db.Close()
		handle = effect
	}
	if s.Guards {
		handle = s.guard(handle)
	}
	o := topic.SubscribeOptions{
		Concurrency: s.Concurrency, MaxFailures: 3, Retry: waybill.Exponential(20*time.Millisecond, 100*time.Millisecond),
	}
	if !s.Fails {
		o.MaxFailures = 0
	}
	topictest.Topic.Subscribe(w, s.Subscription, o, func(ctx context.Context, job *waybill.Job[topictest.Event]) error {
		if s.Tells {
			victim.Say(topictest.Said{Job: job.ID, Attempt: job.Number})
		}
		if s.DieFirst && job.Number == 1 {
			w.Quiet() // it dies with this job, and with no other
		}
		s.trap.reach(topictest.Entered, job.Number)
		if err := handle(ctx, job.Attempt); err != nil {
			return err
		}
		s.trap.reach(topictest.Committed, job.Number)
		return nil
	})
	return w.Run(ctx)
}

func (s subscriber) handle(ctx context.Context, _ *waybill.Attempt) error {
	if s.Takes > 0 {
		if err := pause(ctx, s.Takes); err != nil {
			return err
		}
	}
	if s.Fails {
		return errFails
	}
	return nil
}

// openEffects gives a handler that writes a row into the table effect, in one transaction with its receipt.
func openEffects(ctx context.Context, url string, conns int) (*sql.DB, handler, error) {
	db, d, err := database.Open(ctx, url)
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxIdleConns(conns) // else they come and go
	r, err := receipt.New(db, d, receipt.Options{})
	if err != nil {
		_ = db.Close()
		return nil, nil, err
	}
	insert := "INSERT INTO effect (queue, event) VALUES (?, ?)"
	if d == receipt.PostgreSQL {
		insert = "INSERT INTO effect (queue, event) VALUES ($1, $2)"
	}
	return db, func(ctx context.Context, a *waybill.Attempt) error {
		_, err := r.Do(ctx, receipt.ForAttempt(a), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, insert, a.Queue, a.Event)
			return err
		})
		return err
	}, nil
}

// guard counts attempts, and those that begin while another of the same event runs in any process.
func (s subscriber) guard(next handler) handler {
	return func(ctx context.Context, a *waybill.Attempt) error {
		key := topictest.KeyRunning + a.Event
		first, err := s.rdb.SetNX(ctx, key, a.Token, 0).Result()
		if err != nil {
			return err
		}
		if !first {
			if err := s.rdb.Incr(ctx, topictest.KeyOverlaps).Err(); err != nil {
				return err
			}
		}
		if err := s.rdb.HIncrBy(ctx, topictest.KeyRuns, a.Event, 1).Err(); err != nil {
			return err
		}
		if err := next(ctx, a); err != nil {
			return err
		}
		return s.rdb.Del(ctx, key).Err()
	}
}
