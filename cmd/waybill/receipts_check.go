package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/receipt"
)

func (a *app) receiptsCheckCommand(f *databaseFlags) *cobra.Command {
	older := durationFlag(receipt.DefaultPurgeAge)
	cmd := &cobra.Command{
		Use: "check QUEUE", Short: "Look whether database and queue can keep effects single", Args: between(1, 1),
		Long: `Check looks whether the database answers, has the tables that this version needs, and keeps what it committed; whether
its clock and that of Redis agree; what was purged; and whether a purge of --older-than would make jobs be refused that
could still run. It looks at 1000 jobs at most, and changes nothing. A line each:
  ok    as it should be
  warn  works, and something will go wrong one day
  bad   an effect can be lost or doubled, or none can be applied: do what the line says

Exit status: 1 where something is bad.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if time.Duration(older) < receipt.LeastPurgeAge {
				return usage(cmd, "--older-than is %s: at least 1d", time.Duration(older))
			}
			return a.onReceipts(cmd, f, args, func(ctx context.Context, r *receipt.Receipts) error {
				return a.receiptsCheck(ctx, r, args[0], time.Duration(older))
			})
		},
		ValidArgsFunction: a.completeQueue,
	}
	cmd.Flags().Var(&older, "older-than", "the age of which purges are, or are to be")
	return cmd
}

func (a *app) receiptsCheck(ctx context.Context, r *receipt.Receipts, queue string, older time.Duration) error {
	found, err := r.Check(ctx)
	if err != nil {
		return err
	}
	if worst(found) != receipt.LevelBad || tablesFine(found) {
		c, err := a.connect(0)
		if err != nil {
			return err
		}
		defer c.Close()
		a.doubt(ctx, c, queue)
		more, err := r.CheckQueue(ctx, c.Queue(queue), older)
		if err != nil {
			more = append(more, receipt.Finding{Check: "queue", Level: receipt.LevelBad, What: oneLine(err.Error()), Do: checkHint(err)})
		}
		found = append(found, more...)
	}
	if err := a.printFindings(queue, found); err != nil {
		return err
	}
	if worst(found) == receipt.LevelBad {
		return told(exitOther)
	}
	return nil
}

// tablesFine tells whether the tables can be read.
func tablesFine(found []receipt.Finding) bool {
	for _, f := range found {
		if f.Check == "tables" {
			return f.Level != receipt.LevelBad
		}
	}
	return false
}

// checkHint is what to do about an error, "try again" where nothing else is known.
func checkHint(err error) string {
	if hint := meaningOf(err).hint; hint != nil {
		return hint(err)
	}
	return "try again"
}

func worst(found []receipt.Finding) receipt.Level {
	level := receipt.LevelOK
	for _, f := range found {
		if f.Level == receipt.LevelBad || level == receipt.LevelOK {
			level = f.Level
		}
	}
	return level
}

// checkObject is the object of one check.
type checkObject struct {
	Queue   string  `json:"queue"`
	Check   string  `json:"check"`
	Level   string  `json:"level"`
	Message string  `json:"message"`
	Do      *string `json:"do"`
}

func (a *app) printFindings(queue string, found []receipt.Finding) error {
	var rows [][]cell
	for _, f := range found {
		if a.json {
			if err := printJSON(a.stdout, checkObject{queue, f.Check, string(f.Level), f.What, orNil(f.Do)}); err != nil {
				return err
			}
			continue
		}
		text := f.What
		if f.Do != "" {
			text += ": " + f.Do
		}
		rows = append(rows, []cell{{string(f.Level), levelColour(f.Level)}, {text: f.Check}, {text: oneLine(text)}})
	}
	return a.printRows(rows)
}
