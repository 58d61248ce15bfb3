package main

import (
	"context"
	"database/sql"
	"errors"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/receipt"
)

const outboxHelp = `An outbox holds jobs that were enqueued in transactions of the user's own database, by package outbox. A relay carries its
rows to Redis, and back what became of the jobs; run at least one (outbox relay), or Outbox.Relay in a program. A row stays
until its job was acked, cancelled or deleted: where Redis lost data, outbox replay brings back what was unfinished. Events that
outbox.Publish entered are rows of the queue topic:NAME: sent when they were published, and kept for replays until they are
purged.

outbox status says how it stands. What it may say, and what to do:
  redis lost data     nothing is sent to that queue any more: outbox replay
  rows wait           no relay runs, or Redis is away, or the queue is full: start a relay and read its log; queue stats
                      of a topic also: it has no subscription and no bound: start a worker that subscribes
  no relay has read   the same. What ended since then returns where Redis loses data now
  rows set aside      outbox list says why, outbox get shows one whole; when that is mended outbox retry, else outbox discard
  strangers           the queue tells of jobs that have no row here: rows were deleted, or the database was restored to an
                      earlier time. They stay until outbox forget --strangers

` + databaseHelp

func (a *app) outboxCommand() *cobra.Command {
	f := &databaseFlags{}
	cmd := parent("outbox", "Relay the outbox of a database, look at it, and replay what Redis lost",
		a.outboxRelayCommand(f), a.outboxStatusCommand(f), a.outboxListCommand(f), a.outboxGetCommand(f),
		a.outboxRetryCommand(f), a.outboxDiscardCommand(f), a.outboxPurgeCommand(f), a.outboxReplayCommand(f), a.outboxForgetCommand(f))
	cmd.Long = outboxHelp
	f.defineTables(cmd)
	return cmd
}

func (f *databaseFlags) outboxOptions() outbox.Options { return outbox.Options{Tables: f.tables} }

// outboxDo is what a command does with an outbox.
type outboxDo func(context.Context, *outbox.Outbox) error

// onOutbox does something with the outbox in the database that is named, which is there already.
func (a *app) onOutbox(cmd *cobra.Command, f *databaseFlags, do outboxDo) error {
	return a.onDatabase(cmd, f, func(ctx context.Context, db *sql.DB, d receipt.Dialect) error {
		box, err := outbox.New(db, d, f.outboxOptions())
		if err != nil {
			return err
		}
		return do(ctx, box)
	})
}

// onOutboxAndRedis is onOutbox with a connection to Redis.
func (a *app) onOutboxAndRedis(cmd *cobra.Command, f *databaseFlags, do func(context.Context, *outbox.Outbox, connection) error) error {
	return a.onOutbox(cmd, f, func(ctx context.Context, box *outbox.Outbox) error {
		c, err := a.connect(0)
		if err != nil {
			return err
		}
		defer c.Close()
		return do(ctx, box, c)
	})
}

// checkAddresses checks names of queues and addresses of topics ("topic:NAME"), both of which rows have.
func checkAddresses(queues []string) error {
	for _, queue := range queues {
		if err := store.CheckAddress(queue); err != nil {
			return err
		}
	}
	return nil
}

// addressTitle names a queue, or the topic of an address, for people.
func addressTitle(queue string) string {
	if topic, ok := store.TopicOf(queue); ok {
		return "topic " + topic
	}
	return "queue " + queue
}

// isTopicAddress tells whether rows of a queue are events: its name is the address of a topic.
func isTopicAddress(queue string) bool {
	_, ok := store.TopicOf(queue)
	return ok
}

// Errors of outbox commands.
var (
	errNoRow = errors.New("no row was set aside")
	errNoBox = errors.New("the queue knows no such outbox")
	errInUse = errors.New("that is the outbox of this database")
)
