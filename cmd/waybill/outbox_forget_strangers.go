package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/outbox"
)

// strangersObject is the object of a queue whose words on jobs without a row were taken away.
type strangersObject struct {
	Queue     string `json:"queue"`
	Strangers int64  `json:"strangers"`
}

// forgetStrangers takes away the words of a queue on jobs that have no row in the outbox of the database.
func (a *app) forgetStrangers(cmd *cobra.Command, f *databaseFlags, g *outboxForget) error {
	return a.onOutbox(cmd, f, func(ctx context.Context, box *outbox.Outbox) error {
		c, err := a.connect(0)
		if err != nil {
			return err
		}
		defer c.Close()
		if !g.yes {
			question := fmt.Sprintf("Take away the words of queue %s on jobs that have no row in this database?", g.queue)
			if err := a.ask(ctx, question); err != nil {
				return err
			}
		}
		n, err := box.DropStrangers(ctx, c.Client, g.queue)
		if err != nil {
			return err
		}
		if a.json {
			return printJSON(a.stdout, strangersObject{g.queue, n})
		}
		_, err = fmt.Fprintf(a.stdout, "%s: %s of jobs without a row taken away\n", addressTitle(g.queue), grouped(n, "word"))
		return err
	})
}
