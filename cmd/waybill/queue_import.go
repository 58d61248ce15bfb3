package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

func (a *app) queueImportCommand() *cobra.Command {
	var states statesFlag
	cmd := &cobra.Command{
		Use: "import QUEUE [- | @FILE]", Short: "Bring back the jobs that queue export printed", Args: between(1, 2),
		Long: `Import reads the lines of queue export from stdin or FILE and brings the jobs back, into a queue of any name.
Each keeps its ID, payload, options, counts, errors and the time of its enqueue. Scheduled, retrying and dead
jobs stay what they were; ready, parked, spilled and active ones are ready; of completed and
cancelled ones it is remembered that they ended. Capacity holds, for dead jobs not. A file that is
imported twice adds nothing.

It prints the ID of each job that was taken, or with --json an object for each line.`,
		Example: "  waybill queue import mail @mail.jsonl\n  waybill queue import aside --state dead < mail.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			from := append(args, "-")[1]
			in, err := a.lineInput(cmd, from)
			if err != nil {
				return err
			}
			defer in.Close()
			return a.queueImport(ctx, args[0], exportedLines{args[0], states}, in)
		},
		ValidArgsFunction: a.completeQueue,
	}
	cmd.Flags().Var(&states, "state", "only jobs that were in this state; repeatable: "+words(allStates))
	completeWith(cmd, "state", allStates)
	return cmd
}

func (a *app) queueImport(ctx context.Context, queue string, lines exportedLines, in io.Reader) error {
	if err := store.CheckQueue(queue); err != nil {
		return err
	}
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	s := &sender{app: a, live: a.liveLine(), tally: newTally(), read: lines}
	s.hand = func(ctx context.Context, jobs []lineJob) []waybill.Enqueued {
		back := make([]waybill.JobInfo, len(jobs))
		for i, j := range jobs {
			back[i] = j.back
		}
		said, _ := c.Queue(queue).Restore(ctx, back) // each answer has its error
		return said
	}
	return s.feed(ctx, in)
}

// exportedLines are lines of an export. Those in other states are skipped.
type exportedLines struct {
	queue  string
	states []waybill.State // nil = all
}

// most has room for payload, result and errors with every byte escaped.
func (exportedLines) most() int { return 16 << 20 }

// errSkipped: the line is none of those that were asked for.
var errSkipped = errors.New("skipped")

func (x exportedLines) job(l line) (j lineJob, err error) {
	j.Queue = x.queue
	if l.size > int64(x.most()) {
		return j, fieldError("line", "is %d bytes: at most %d", l.size, x.most())
	}
	if err := json.Unmarshal(l.text, &j.back); err != nil {
		return j, fieldError("line", "is no line of queue export: %v", err)
	}
	j.ID, j.Kind = j.back.ID, j.back.Kind
	switch {
	case j.ID == "":
		return j, fieldError("id", "is missing: give lines of queue export")
	case j.back.State == "":
		return j, fieldError("state", "is missing: give lines of queue export")
	case j.back.Known && j.back.EnqueuedAt.IsZero():
		return j, fieldError("enqueued_at", "is missing: give lines of queue export")
	case x.states != nil && !slices.Contains(x.states, j.back.State):
		return j, errSkipped
	}
	return j, nil
}
