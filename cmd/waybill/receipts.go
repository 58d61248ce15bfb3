package main

import (
	"github.com/spf13/cobra"
)

const receiptsHelp = `A receipt says that the effect of a job is in the database; an operation, how a call to another system stands.
Both are kept in the user's own database, by package receipt.

A job is dead, and its last error speaks of a receipt or an operation:
  older than the receipts that were purged   receipts show QUEUE ID, and look whether the effect is there. If it is: job
                                             delete. If not: receipts force QUEUE ID, then job requeue QUEUE ID
  the receipt is for other work              one ID was used for two things: see both by receipts show; enqueue the
                                             second under an ID of its own
  unanswered, or the key has expired         ask the other side what became of the idempotency key that receipts show
                                             tells. Then receipts resolve QUEUE ID STEP, and job requeue QUEUE ID
  refused                                    for good; nothing to be done here

` + databaseHelp

func (a *app) receiptsCommand() *cobra.Command {
	f := &databaseFlags{}
	cmd := parent("receipts", "Look at receipts and operations in the database, and settle what is open",
		a.receiptsCheckCommand(f), a.receiptsPurgeCommand(f), a.receiptsShowCommand(f), a.receiptsListCommand(f),
		a.receiptsForceCommand(f), a.receiptsResolveCommand(f))
	cmd.Long = receiptsHelp
	f.define(cmd)
	return cmd
}

// keyOf is the key of a job's effect, as receipts have it: the ID, and a step behind a space.
func keyOf(id string, step []string) string {
	for _, s := range step {
		id += " " + s
	}
	return id
}

// stepArgument is the step that was given; "" = none.
func stepArgument(args []string) string {
	if len(args) < 3 {
		return ""
	}
	return args[2]
}

// orNil is nil for "".
func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
