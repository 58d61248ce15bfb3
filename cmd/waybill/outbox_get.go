package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/outbox"
)

func (a *app) outboxGetCommand(f *databaseFlags) *cobra.Command {
	return &cobra.Command{
		Use: "get QUEUE ID", Short: "Show a row: its state, why it was set aside, and the job in it", Args: between(2, 2),
		Long: `Get shows the row of a job, whatever its state:
  new        not sent yet             sent       its job is in the queue: job get
  acked      its job was acked        deleted    its job was deleted or cancelled
  dead       its job is dead          set aside  it can't be sent: the reason says why
An event, whose QUEUE is topic:NAME, is sent when it was published. Get shows this
and the job that its body holds, also where another language wrote it. Of a body that can't be read the first bytes are
shown.

Exit status: 9 where the outbox has no such row: it was never committed, or is purged or discarded.`,
		Example: "  waybill outbox get mail order-17/mail",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onOutbox(cmd, f, func(ctx context.Context, box *outbox.Outbox) error {
				r, err := box.Row(ctx, args[0], args[1])
				if err != nil {
					return err
				}
				if a.json {
					return printJSON(a.stdout, rowObjectOf(r))
				}
				return a.printRows(rowLines(r, time.Now()))
			})
		},
		ValidArgsFunction: a.completeQueue,
	}
}

// unreadable tells whether nothing of a row's body could be read.
func unreadable(r outbox.Row) bool { return r.Unusable != nil && r.Request.Kind == "" }

// rowColours are how states of rows look on a terminal.
var rowColours = map[outbox.RowState]string{outbox.RowAcked: green, outbox.RowDead: red, outbox.RowSetAside: yellow}

// rowLines are the lines in which people read a row; what is not there is left out.
func rowLines(r outbox.Row, now time.Time) [][]cell {
	var rows [][]cell
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []cell{{name, bold}, {visible(value, indent), ""}})
		}
	}
	add("id", r.ID)
	add("queue", r.Queue)
	add("row", fmt.Sprint(r.Seq))
	rows = append(rows, []cell{{"state", bold}, {strings.ReplaceAll(string(r.State), "_", " "), rowColours[r.State]}})
	add("reason", r.Reason)
	add("key", r.Key)
	add("entered", moment(r.EnteredAt, now))
	add("due", moment(r.DueAt, now))
	ended := "ended"
	if isTopicAddress(r.Queue) {
		ended = "published"
	}
	add(ended, moment(r.EndedAt, now))
	if r.Unusable != nil {
		add("unusable", r.Unusable.Error())
	}
	if unreadable(r) {
		add("body", content(r.Body))
		return rows
	}
	add("kind", r.Request.Kind)
	for _, line := range optionLines(r.Request) {
		add(line[0], line[1])
	}
	for _, name := range slices.Sorted(maps.Keys(r.Request.Headers)) {
		add("header", name+"="+r.Request.Headers[name])
	}
	add("payload", content(r.Request.Payload))
	return rows
}

// optionLines are names and values of the options that a request sets.
func optionLines(r waybill.Request) [][2]string {
	all := [][2]string{{"order", orderOf(waybill.JobInfo{Priority: r.Priority, LIFO: r.LIFO})}}
	if r.MaxFailures != 0 {
		all = append(all, [2]string{"max failures", mostFailures(r.MaxFailures)})
	}
	if r.Retention != 0 {
		all = append(all, [2]string{"retention", spelled(&r.Retention)})
	}
	if r.Version != 0 {
		all = append(all, [2]string{"version", fmt.Sprint(r.Version)})
	}
	if r.OnFull == waybill.FullSpill {
		all = append(all, [2]string{"on full", "spill"})
	}
	return all
}
