package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/receipt"
)

func (a *app) receiptsListCommand(f *databaseFlags) *cobra.Command {
	return &cobra.Command{
		Use: "list QUEUE", Short: "List operations without an answer", Args: between(1, 1),
		Long: `List prints the operations of a queue that have no answer for good, at most 1000, by ID. Those in state unknown wait for a
person: ask the other side by the idempotency key, then receipts resolve. Of the others it is the jobs' business, while those live: a job that is dead may be
requeued, and goes on by what its operation declares. receipts show QUEUE ID has the receipts of one job.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onReceipts(cmd, f, args, func(ctx context.Context, r *receipt.Receipts) error {
				open, err := r.Unfinished(ctx, args[0])
				if err != nil {
					return err
				}
				return a.printOpen(open)
			})
		},
		ValidArgsFunction: a.completeQueue,
	}
}

func (a *app) printOpen(open []receipt.OperationInfo) error {
	rows := [][]cell{heads("JOB", "STEP", "STATE", "CALLS", "CALLED", "KEY", "REASON")}
	for _, o := range open {
		e := ofOperation(o)
		if a.json {
			if err := printJSON(a.stdout, e); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []cell{
			{text: oneLine(o.Job)},
			{text: oneLine(orDash(e.Step))},
			{e.State, stateColour(e.State)},
			{text: fmt.Sprint(o.Calls)},
			{text: o.CalledAt.UTC().Format("2006-01-02 15:04:05")},
			{text: oneLine(o.IdempotencyKey)},
			{text: oneLine(orDash(e.Reason))},
		})
	}
	if a.json || len(open) == 0 {
		return nil
	}
	return a.printRows(fit(rows, width(a.stdout)))
}

func orDash(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// stateColour is that of a receipt's or an operation's state.
func stateColour(state string) string {
	switch state {
	case "applied", string(receipt.StateDone):
		return green
	case string(receipt.StateUnknown), string(receipt.StateRefused):
		return red
	}
	return yellow
}

// printEffects prints receipts and operations, a block of lines each.
func (a *app) printEffects(all []effectObject) error {
	for i, e := range all {
		if a.json {
			if err := printJSON(a.stdout, e); err != nil {
				return err
			}
			continue
		}
		text := a.rowsText(effectRows(e))
		if i > 0 {
			text = "\n" + text
		}
		if _, err := fmt.Fprint(a.stdout, text); err != nil {
			return err
		}
	}
	return nil
}

// effectRows are the lines in which people read a receipt or an operation.
func effectRows(e effectObject) [][]cell {
	rows := [][]cell{{{e.Type, bold}, {text: oneLine(e.ID)}}, {{"state", bold}, {e.State, stateColour(e.State)}}}
	add := func(name string, text *string) {
		if text != nil {
			rows = append(rows, []cell{{name, bold}, {text: visible(strings.TrimSpace(content([]byte(*text))), "  ")}})
		}
	}
	add("reason", e.Reason)
	add("idempotency key", e.IdempotencyKey)
	if e.Calls != nil {
		rows = append(rows, []cell{{"calls", bold}, {text: fmt.Sprint(*e.Calls)}})
	}
	add("request", e.Request)
	add("request (base64)", e.RequestBase64)
	add("result", e.Result)
	add("result (base64)", e.ResultBase64)
	add("applied", e.AppliedAt)
	add("intended", e.IntendedAt)
	add("last called", e.CalledAt)
	add("answered", e.AnsweredAt)
	add("by attempt", &e.Token)
	add("job", &e.Job)
	add("born", e.BornAt)
	add("fingerprint", e.Fingerprint)
	return rows
}
