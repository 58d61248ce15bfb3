package main

import (
	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/outbox"
)

func (a *app) outboxDiscardCommand(f *databaseFlags) *cobra.Command {
	r := &asideChange{
		question: func(n int64) string { return "Discard " + grouped(n, "row") + ": " + neverRun(n) + "?" },
		did:      func(n int64) string { return "discarded: " + neverRun(n) },
		would:    func(int64) string { return "would be discarded" },
		onBox:    func(box *outbox.Outbox) asideDo { return box.Discard },
	}
	cmd := &cobra.Command{
		Use: "discard QUEUE ID, or discard --all [--queue QUEUE]", Short: "Delete rows that were set aside: their jobs never run",
		Long: `Discard deletes the row of a job that was set aside, or all such rows. Their jobs never run, and nothing remembers them: look
first (outbox get). Rows that wait, or whose jobs are in the queue, it does not touch. With --all their number is told
first, and you are asked; without a terminal give --yes.

Exit status: 9 where QUEUE ID was not set aside.`,
		Example: "  waybill outbox discard mail order-17/mail\n  waybill outbox discard --all --queue mail --dry-run",
	}
	return a.asideCommand(cmd, f, r)
}

// neverRun says what becomes of the jobs of n rows.
func neverRun(n int64) string {
	if n == 1 {
		return "its job never runs"
	}
	return "their jobs never run"
}
