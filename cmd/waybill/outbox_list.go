package main

import (
	"cmp"
	"context"
	"errors"
	"iter"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/outbox"
)

func (a *app) outboxListCommand(f *databaseFlags) *cobra.Command {
	return &cobra.Command{
		Use: "list [QUEUE]", Short: "List rows that were set aside, and why", Args: between(0, 1),
		Long: `List prints the rows that a relay has set aside, of one queue or of all, in the order in which they were entered: their ID
stands for other work in the queue, or this version can't read them (update waybill here). A full queue or a Redis that is
away sets no row aside. outbox get QUEUE ID shows a row whole, job get what the queue has by its ID. When the reason is
mended: outbox retry. Rows whose jobs are not to run any more: outbox discard.`,
		Example: "  waybill outbox list mail",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkAddresses(args); err != nil {
				return err
			}
			return a.onOutbox(cmd, f, func(ctx context.Context, box *outbox.Outbox) error {
				return a.outboxList(ctx, box, args)
			})
		},
		ValidArgsFunction: a.completeQueue,
	}
}

// asidePage is how many rows are read at a time.
const asidePage = 1000

// asideOf gives the rows that were set aside of a queue and ID; "" = of all.
func asideOf(ctx context.Context, box *outbox.Outbox, queue, id string) iter.Seq2[outbox.Aside, error] {
	return func(yield func(outbox.Aside, error) bool) {
		for last := int64(0); ; {
			rows, err := box.SetAside(ctx, last, asidePage)
			if err != nil {
				yield(outbox.Aside{}, err)
				return
			}
			for _, r := range rows {
				last = r.Seq
				if (queue == "" || r.Queue == queue) && (id == "" || r.ID == id) && !yield(r, nil) {
					return
				}
			}
			if len(rows) < asidePage {
				return
			}
		}
	}
}

// asideObject is the object of a row that was set aside.
type asideObject struct {
	Seq       int64  `json:"seq"`
	Queue     string `json:"queue"`
	ID        string `json:"id"`
	EnteredAt string `json:"entered_at"`
	Reason    string `json:"reason"`
	// Of the body; null where it can't be read.
	Kind          *string `json:"kind"`
	Payload       *string `json:"payload"`
	PayloadBase64 *string `json:"payload_base64"`
}

// asideObjectOf is the object of a row, whose body is read.
func asideObjectOf(r outbox.Aside, whole outbox.Row) asideObject {
	o := asideObject{
		Seq: r.Seq, Queue: r.Queue, ID: r.ID, EnteredAt: r.EnteredAt.UTC().Format(stampFormat), Reason: r.Reason,
		Kind: orNil(whole.Request.Kind),
	}
	if o.Kind != nil {
		o.Payload, o.PayloadBase64 = payloadOf(whole.Request)
	}
	return o
}

func (a *app) outboxList(ctx context.Context, box *outbox.Outbox, queues []string) error {
	queue := ""
	if len(queues) == 1 {
		queue = queues[0]
	}
	rows := [][]cell{heads("QUEUE", "ID", "KIND", "ENTERED", "REASON")}
	for r, err := range asideOf(ctx, box, queue, "") {
		if err != nil {
			return err
		}
		whole, err := box.Row(ctx, r.Queue, r.ID) // one at a time: bodies may be large
		if errors.Is(err, outbox.ErrNotFound) {   // it was discarded meanwhile
			continue
		}
		if err != nil {
			return err
		}
		if a.json {
			if err := printJSON(a.stdout, asideObjectOf(r, whole)); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []cell{
			{text: r.Queue},
			{text: oneLine(r.ID)},
			{text: oneLine(cmp.Or(whole.Request.Kind, "-"))},
			{text: r.EnteredAt.UTC().Format("2006-01-02 15:04:05")},
			{oneLine(r.Reason), yellow},
		})
	}
	if a.json || len(rows) == 1 {
		return nil
	}
	return a.printRows(fit(rows, width(a.stdout)))
}
