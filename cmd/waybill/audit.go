package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

func (a *app) auditCommand() *cobra.Command {
	repair := false
	cmd := &cobra.Command{
		Use: "audit [QUEUE]", Short: "Look for jobs that got lost in Redis", Args: between(0, 1),
		Long: `Audit walks over all of a queue, or of all queues, for what no call leaves behind: records that stand
nowhere, entries without a job, wrong counts. Only a Redis that lost data, or hands that changed its
keys, leaves such things. It goes in bounded steps while work goes on.

With --repair it mends what it finds:
  unindexed         a job that stands nowhere: ready again, in front
  left              an ended job that would stay for ever: kept for an hour
  orphan run        counts of a job that is gone: removed
  orphan element    an entry whose job is gone: removed
  unrecorded lease  recorded
  ghosts M N        M entries without a job were counted, there are N: N
  newer             written by a newer version of Waybill: left alone

Exit status: 1 where something was found and not repaired.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return a.audit(ctx, args, repair)
		},
		ValidArgsFunction: a.completeQueue,
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "mend what is found")
	return cmd
}

// findingObject is the object of one finding.
type findingObject struct {
	Queue    string `json:"queue"`
	What     string `json:"what"`
	Item     string `json:"item"`
	Repaired bool   `json:"repaired"`
}

func (a *app) audit(ctx context.Context, names []string, repair bool) error {
	for _, name := range names {
		if err := store.CheckQueue(name); err != nil {
			return err
		}
	}
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	if len(names) == 0 {
		if names, err = c.Queues(ctx); err != nil {
			return err
		}
		slices.Sort(names)
	}
	w := &auditing{app: a, line: a.liveLine()}
	for _, name := range names {
		if err = w.queue(ctx, c.Queue(name), name, repair); err != nil {
			break
		}
	}
	w.line.clear()
	a.say("%s, %s looked at: %s found, %s repaired", count(int64(w.queues), "queue"), entries(w.looked+w.before),
		thousands(w.found), thousands(w.repaired))
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%w: the rest was not looked at", errInterrupted)
	case err != nil:
		return err
	case w.found > w.repaired:
		return told(exitOther)
	}
	return nil
}

func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return thousands(n) + " entries"
}

// auditing is an audit under way.
type auditing struct {
	app             *app
	line            *liveLine
	queues          int
	looked, before  int64 // in this queue, in those before
	found, repaired int64
	failed          error // of printing
}

// queue walks over one queue.
func (w *auditing) queue(ctx context.Context, q *waybill.Queue, name string, repair bool) error {
	w.queues++
	w.before, w.looked = w.before+w.looked, 0
	err := q.Audit(ctx, repair, func(f waybill.Finding) { w.print(name, f) }, func(looked int64) {
		w.looked = looked
		w.line.show(func() string {
			return fmt.Sprintf("queue %s: %s looked at, %s found", name, entries(looked), thousands(w.found))
		})
	})
	if w.failed != nil {
		return w.failed
	}
	return err
}

// print prints a finding.
func (w *auditing) print(queue string, f waybill.Finding) {
	w.found++
	if f.Repaired {
		w.repaired++
	}
	w.line.clear()
	if w.app.json {
		w.fail(printJSON(w.app.stdout, findingObject{queue, f.What, f.Item, f.Repaired}))
		return
	}
	state, colour := "found", red
	if f.Repaired {
		state, colour = "repaired", green
	}
	_, err := fmt.Fprintf(w.app.stdout, "%s  %-16s  queue %s  %s\n",
		w.app.paint(w.app.stdout, colour, fmt.Sprintf("%-8s", state)), visible(f.What, ""), queue, visible(f.Item, ""))
	w.fail(err)
}

func (w *auditing) fail(err error) {
	if w.failed == nil {
		w.failed = err
	}
}
