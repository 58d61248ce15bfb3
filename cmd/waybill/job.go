package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

func (a *app) jobCommand() *cobra.Command {
	get := &cobra.Command{
		Use: "get QUEUE ID", Short: "Show all that is known of a job", Args: between(2, 2),
		Long: `Get shows a job: where it is, its attempts, errors and result. Of a job that ended without
retention only ID and state are known, within the settled window; beyond it nobody can tell
whether it existed, and it is not found (exit status 9).`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return a.jobGet(ctx, args[0], args[1])
		},
		ValidArgsFunction: a.completeQueue,
	}
	return parent("job", "Look at jobs, wait for them, and change them", get, a.jobListCommand(), a.jobWaitCommand(),
		a.requeueCommand(), a.promoteCommand(), a.cancelCommand(), a.deleteCommand())
}

func (a *app) jobGet(ctx context.Context, queue, id string) error {
	if err := errors.Join(store.CheckQueue(queue), record.CheckID(id)); err != nil {
		return err
	}
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	job, err := c.Queue(queue).Get(ctx, id)
	if err != nil {
		return err
	}
	if a.json {
		return printJSON(a.stdout, job)
	}
	return a.printRows(jobRows(job))
}

// stateColours are how states look on a terminal.
var stateColours = map[waybill.State]string{
	waybill.StateCompleted: green, waybill.StateActive: green, waybill.StateDead: red, waybill.StateRetry: yellow,
	waybill.StateParked: yellow, waybill.StateSpilled: yellow, waybill.StateCancelled: yellow,
}

// jobRows are the lines in which people read a job; what is not there is left out.
func jobRows(j waybill.JobInfo) [][]cell {
	var rows [][]cell
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []cell{{name, bold}, {visible(value, indent), ""}})
		}
	}
	add("id", j.ID)
	add("queue", j.Queue)
	add("kind", j.Kind)
	add("event", j.Event)
	add("replay", j.Replay)
	if j.Again {
		add("again", "effects are repeated")
	}
	rows = append(rows, []cell{{"state", bold}, {string(j.State), stateColours[j.State]}})
	if j.CancelRequested {
		add("cancel", "requested")
	}
	add("reason", j.Reason)
	if j.Known {
		add("attempts", fmt.Sprintf("%d (%s, %s, %s)", j.Attempt, count(j.Failures, "failure"),
			crashes(j.Crashes), count(j.Snoozes, "snooze")))
		add("max failures", mostFailures(j.MaxFailures))
		add("order", orderOf(j))
	}
	switch {
	case j.State == waybill.StateParked:
		add("waits for", "a worker that knows kind "+j.Kind+" and has room for it")
	case j.State == waybill.StateActive && j.LeaseEndsAt.Before(j.At):
		add("waits for", "a worker that claims: the lease is over, so the attempt's worker is gone, or slow")
	}
	for _, t := range []struct {
		name string
		at   time.Time
	}{
		{"enqueued", j.EnqueuedAt},
		{"due", j.DueAt},
		{"started", j.StartedAt},
		{"lease ends", j.LeaseEndsAt},
		{"finished", j.FinishedAt},
	} {
		add(t.name, moment(t.at, j.At))
	}
	if p := j.Progress; p != nil {
		add("progress", strings.TrimSpace(fmt.Sprintf("%d %% %s", p.Percent, p.Note))+", "+moment(p.At, j.At))
	}
	add("worker", j.Worker)
	add("host", j.Host)
	add("token", j.Token)
	return append(rows, contentRows(j)...)
}

// indent is as wide as the names of a job's fields and the gap behind them.
const indent = "              "

// contentRows are payload, headers, errors and result.
func contentRows(j waybill.JobInfo) [][]cell {
	var rows [][]cell
	add := func(name, value string) {
		rows = append(rows, []cell{{name, bold}, {visible(value, indent), ""}})
	}
	if !j.Known {
		add("", "All else is gone: the job ended, and is known for a while only so that it is not run twice.")
		return rows
	}
	for _, name := range slices.Sorted(maps.Keys(j.Headers)) {
		add("header", name+"="+j.Headers[name])
	}
	add("payload", content(j.Payload))
	for _, e := range j.Errors {
		add("error", fmt.Sprintf("attempt %d, %s, %s: %s", e.Attempt, moment(e.At, j.At), e.Type, e.Message))
	}
	switch {
	case j.ResultDropped:
		add("result", "there was one, over the limit: not kept")
	case j.Result != nil:
		add("result", content(j.Result))
	}
	return rows
}

func mostFailures(n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("as its worker says, %d by default", waybill.DefaultMaxFailures)
	case waybill.Unlimited:
		return unlimited
	}
	return fmt.Sprint(n)
}

// orderOf tells a job's place where it is not the plain one.
func orderOf(j waybill.JobInfo) string {
	var words []string
	if j.Priority != 0 {
		words = append(words, fmt.Sprintf("priority %d", j.Priority))
	}
	if j.LIFO {
		words = append(words, "last in, first out")
	}
	return strings.Join(words, ", ")
}
