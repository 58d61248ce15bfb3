package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

func (a *app) queuePauseCommand() *cobra.Command {
	by := ""
	cmd := &cobra.Command{
		Use: "pause QUEUE", Short: "Stop the delivery of jobs", Args: between(1, 1),
		Long: `Pause stops the delivery of jobs of a queue to all workers, until resume. Jobs are taken all the same,
what runs goes on, and due jobs become ready.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if by == "" {
				return usage(cmd, "--by is empty: say who pauses")
			}
			if err := record.CheckLine("by", by); err != nil {
				return err
			}
			return a.onQueue(cmd, args[0], func(ctx context.Context, q *waybill.Queue) error {
				s, _ := q.Stats(ctx) // who paused it before is told where it is known
				if err := q.Pause(ctx, by); err != nil {
					return err
				}
				if s.PausedBy != "" && s.PausedBy != by {
					a.say("it was paused by %s", oneLine(s.PausedBy))
				}
				return a.printPaused(args[0], &by)
			})
		},
		ValidArgsFunction: a.completeQueue,
	}
	cmd.Flags().StringVar(&by, "by", a.who(), "`WHO` pauses, for people to read")
	return cmd
}

func (a *app) queueResumeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "resume QUEUE", Short: "Let the delivery of jobs go on", Args: between(1, 1),
		SuggestFor: []string{"unpause", "continue"},
		Long:       "Resume lets the delivery of jobs of a paused queue go on. One that is not paused stays as it is.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onQueue(cmd, args[0], func(ctx context.Context, q *waybill.Queue) error {
				if err := q.Resume(ctx); err != nil {
					return err
				}
				return a.printPaused(args[0], nil)
			})
		},
		ValidArgsFunction: a.completeQueue,
	}
}

// onQueue does something to a queue.
func (a *app) onQueue(cmd *cobra.Command, queue string, do func(context.Context, *waybill.Queue) error) error {
	if err := store.CheckQueue(queue); err != nil {
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	a.doubt(ctx, c, queue)
	return do(ctx, c.Queue(queue))
}

// doubtTime bounds the look whether a queue is there.
const doubtTime = 2 * time.Second

// doubt says that nobody has written to a queue yet: its name may be mistyped.
func (a *app) doubt(ctx context.Context, c connection, queue string) {
	ctx, cancel := context.WithTimeout(ctx, doubtTime)
	defer cancel()
	if known, err := c.Queues(ctx); err == nil && !slices.Contains(known, queue) {
		a.say("queue %s: nobody has written to it yet", queue)
	}
}

// pausedObject is the object of a queue that was paused or resumed.
type pausedObject struct {
	Queue    string  `json:"queue"`
	Paused   bool    `json:"paused"`
	PausedBy *string `json:"paused_by"`
}

// printPaused tells what was done; by nil = the queue goes on.
func (a *app) printPaused(queue string, by *string) error {
	if a.json {
		return printJSON(a.stdout, pausedObject{queue, by != nil, by})
	}
	text := "queue " + queue + " is resumed"
	if by != nil {
		text = "queue " + queue + " is paused by " + *by
	}
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}
