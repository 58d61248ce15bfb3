package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// importFlags are what `waybill queue import` is told.
type importFlags struct {
	states statesFlag
	onFull fullFlag
}

func (a *app) queueImportCommand() *cobra.Command {
	f := &importFlags{}
	cmd := &cobra.Command{
		Use: "import QUEUE [- | @FILE]", Short: "Send the jobs that queue export printed", Args: between(1, 2),
		Long: `Import reads the lines of queue export from stdin or FILE and sends the jobs that were live, under their IDs
and with all their options, into a queue of any name. Those due later are due then; those that ran are ready.
A file that is imported twice adds nothing. With --state it takes jobs in these states
in place of the live ones; dead ones too become ready. Attempts, failures and errors begin anew.

It prints the ID of each job that was taken, or with --json an object for each; lines
that are left out are counted.`,
		Example: "  waybill queue import mail @mail.jsonl\n  waybill queue import mail --state dead < dead.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			from := ""
			if len(args) == 2 {
				from = args[1]
			}
			return a.queueImport(ctx, cmd, [2]string{args[0], from}, f)
		},
		ValidArgsFunction: a.completeQueue,
	}
	cmd.Flags().Var(&f.states, "state", "jobs that were in this state; repeatable (default: "+words(live)+")")
	cmd.Flags().Var(&f.onFull, "on-full", "if the queue is full: reject, wait so long for room, or spill (keep aside until there is room)")
	completeWith(cmd, "state", allStates)
	return cmd
}

// queueImport sends jobs; names are the queue and where they come from.
func (a *app) queueImport(ctx context.Context, cmd *cobra.Command, names [2]string, f *importFlags) error {
	if err := store.CheckQueue(names[0]); err != nil {
		return err
	}
	in, err := a.lineInput(cmd, names[1])
	if err != nil {
		return err
	}
	defer in.Close()
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	states := f.states
	if states == nil {
		states = live
	}
	s := &sender{
		app: a, client: c, live: a.liveLine(), tally: newTally(),
		read: exportedLines{waybill.Request{Queue: names[0], OnFull: f.onFull.policy}, states},
	}
	return s.feed(ctx, in)
}

// exportedLines are lines of an export. Those in other states are skipped.
type exportedLines struct {
	common waybill.Request
	states []waybill.State
}

// most has room for payload, result and errors with every byte escaped.
func (exportedLines) most() int { return 16 << 20 }

// exportedJob is what of an exported job is sent again.
type exportedJob struct {
	ID             string            `json:"id"`
	Kind           *string           `json:"kind"`
	State          waybill.State     `json:"state"`
	Payload        *string           `json:"payload"`
	PayloadBase64  []byte            `json:"payload_base64"`
	Headers        map[string]string `json:"headers"`
	Priority       int               `json:"priority"`
	LIFO           bool              `json:"lifo"`
	MaxFailures    int               `json:"max_failures"`
	RetentionMS    int64             `json:"retention_ms"`
	DueAt          *time.Time        `json:"due_at"`
	PayloadVersion int               `json:"payload_version"`
}

// errSkipped: the line is none of those that were asked for.
var errSkipped = errors.New("skipped")

func (x exportedLines) request(l line) (waybill.Request, error) {
	r, j := x.common, exportedJob{}
	if l.size > int64(x.most()) {
		return r, fieldError("line", "is %d bytes: at most %d", l.size, x.most())
	}
	if err := json.Unmarshal(l.text, &j); err != nil {
		return r, fieldError("line", "is no line of queue export: %v", err)
	}
	r.ID = j.ID
	switch {
	case j.ID == "":
		return r, fieldError("id", "is missing: give lines of queue export")
	case j.State == "":
		return r, fieldError("state", "is missing: give lines of queue export")
	case !slices.Contains(x.states, j.State):
		return r, errSkipped
	case j.Kind == nil:
		return r, fieldError("kind", "is missing: of this job only ID and state are known")
	case j.RetentionMS < 0 || j.RetentionMS > record.MaxRetention.Milliseconds():
		return r, fieldError("retention_ms", "is %d: from 0 to %d", j.RetentionMS, record.MaxRetention.Milliseconds())
	}
	r.Kind, r.Payload, r.Headers, r.Version = *j.Kind, j.PayloadBase64, j.Headers, j.PayloadVersion
	r.Priority, r.LIFO, r.MaxFailures = j.Priority, j.LIFO, j.MaxFailures
	r.Retention = time.Duration(j.RetentionMS) * time.Millisecond
	if j.Payload != nil {
		r.Payload = []byte(*j.Payload)
	}
	if j.DueAt != nil && (j.State == waybill.StateScheduled || j.State == waybill.StateRetry) {
		r.At = *j.DueAt
	}
	return r, nil
}
