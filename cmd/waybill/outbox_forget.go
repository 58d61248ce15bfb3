package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/receipt"
)

// outboxForget is what `waybill outbox forget` is told.
type outboxForget struct {
	queue, name string // name "" = list them
	yes, force  bool
	strangers   bool // instead of an outbox
}

func (a *app) outboxForgetCommand(f *databaseFlags) *cobra.Command {
	g := &outboxForget{}
	cmd := &cobra.Command{
		Use: "forget --queue QUEUE [NAME | --strangers]", Short: "Take away what a queue keeps for an outbox whose database is gone", Args: between(0, 1),
		Long: `Forget takes away the number that a queue has given to an outbox, and what it keeps for it to read: what became of its jobs.
The jobs stay. A queue has room for 62 outboxes, and what nobody reads grows with every job that ends: so forget an outbox
whose database is gone. Without NAME it lists those that the queue knows.

Never forget one that lives: its relay would find that Redis lost data. The outbox of the database that is named
(--database, WAYBILL_DATABASE) is refused without --force; of others nothing is known here. A database need not be named.

With --strangers it takes away the words that the outbox of the database can't use, as their jobs have no row there: rows were
deleted by hand, or the database was restored to an earlier time. Where a copy of the database runs beside it under the same
name, they may be the copy's: give that one a name of its own first.

Exit status: 4 where it is the outbox of the database, 9 where the queue does not know it.`,
		Example: "  waybill outbox forget --queue mail\n  waybill outbox forget --queue mail 6NBHKFQ4LKD2XKRSLJZ5WCWWSU\n" +
			"  waybill outbox forget --queue mail --strangers",
		RunE: func(cmd *cobra.Command, args []string) error {
			if g.queue == "" {
				return usage(cmd, "which queue? Give --queue")
			}
			if err := checkAddresses([]string{g.queue}); err != nil {
				return err
			}
			if g.strangers && (len(args) > 0 || g.force) {
				return usage(cmd, "--strangers takes neither NAME nor --force")
			}
			if g.strangers {
				if err := a.checkAsk(cmd, g.yes); err != nil {
					return err
				}
				return a.forgetStrangers(cmd, f, g)
			}
			if len(args) == 1 {
				if g.name = args[0]; g.name == "" {
					return usage(cmd, "NAME is empty: leave it out to have them listed")
				}
				if err := a.checkAsk(cmd, g.yes); err != nil {
					return err
				}
			}
			return a.outboxForget(cmd, f, g)
		},
	}
	v := cmd.Flags()
	v.StringVar(&g.queue, "queue", "", "the `QUEUE` that is to forget")
	v.BoolVar(&g.yes, "yes", false, "do not ask")
	v.BoolVar(&g.force, "force", false, "also the outbox of the database that is named")
	v.BoolVar(&g.strangers, "strangers", false, "instead of an outbox, the words on jobs that have no row in the database")
	if err := cmd.RegisterFlagCompletionFunc("queue", a.completeQueues); err != nil {
		panic(err) // the flag is there
	}
	return cmd
}

func (a *app) outboxForget(cmd *cobra.Command, f *databaseFlags, g *outboxForget) error {
	ours, err := a.ownOutbox(cmd, f)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	box, err := c.Outbox(g.queue, g.name)
	if err != nil {
		return err
	}
	known, err := box.Queue().Outboxes(ctx)
	if err != nil {
		return err
	}
	if g.name == "" {
		if !isTopicAddress(g.queue) {
			a.doubt(ctx, c, g.queue)
		}
		return a.printBoxes(g.queue, known, ours)
	}
	for _, b := range known {
		if b.Name == g.name {
			return a.forget(ctx, box, b, g, ours)
		}
	}
	return fmt.Errorf("%w: %q in %s", errNoBox, g.name, addressTitle(g.queue))
}

// ownOutbox is the name of the outbox in the database that is named; "" where there is none.
func (a *app) ownOutbox(cmd *cobra.Command, f *databaseFlags) (name string, err error) {
	if f.url == "" && f.file == "" && a.getenv(envDatabase) == "" {
		return "", nil
	}
	err = a.onDatabase(cmd, f, func(ctx context.Context, db *sql.DB, d receipt.Dialect) error {
		box, err := outbox.New(db, d, f.outboxOptions())
		if err != nil {
			return err
		}
		stats, err := box.Stats(ctx) // it makes no name where there is none
		name = stats.Name
		if errors.Is(err, outbox.ErrNoTable) {
			return nil
		}
		return err
	})
	return name, err
}

func (a *app) forget(ctx context.Context, box *store.Outbox, b store.BoxInfo, g *outboxForget, ours string) error {
	if b.Name == ours && !g.force {
		return fmt.Errorf("%w: %s", errInUse, b.Name)
	}
	if !g.yes {
		question := fmt.Sprintf("Have %s forget outbox %s, which sent %s, and %s that it has not read?",
			addressTitle(g.queue), b.Name, grouped(b.Sent, "job"), grouped(b.Unread, "word"))
		if err := a.ask(ctx, question); err != nil {
			return err
		}
	}
	if err := box.Forget(ctx); err != nil {
		return err
	}
	if a.json {
		return printJSON(a.stdout, forgotObject{g.queue, b.Name, b.Sent, b.Unread})
	}
	_, err := fmt.Fprintf(a.stdout, "%s: outbox %s forgotten, and %s\n", addressTitle(g.queue), b.Name, grouped(b.Unread, "word"))
	return err
}

// forgotObject is the object of an outbox that was forgotten.
type forgotObject struct {
	Queue  string `json:"queue"`
	Outbox string `json:"outbox"`
	Sent   int64  `json:"sent"`
	Unread int64  `json:"unread"`
}
