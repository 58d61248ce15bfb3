package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
)

const enqueueHelp = `Enqueue sends a job and prints its ID on stdout, all else on stderr:
  id=$(waybill enqueue mail welcome '{"user":7}')

The payload is the argument as it stands, all of stdin (-), or a file (@FILE); without
one it is empty. One that begins with "-" or "@" goes through stdin, or with "-" behind --.
The same ID with the same kind and payload is one job, however often it is
sent (duplicate); with another kind or payload it is a conflict.

With --wait it waits for the end of the job, and stdout gets the bytes of the result, nothing else.
The job goes on where --wait-for passes. Without --retention such a job is kept for a minute after
its end, so that there is a result to read.

With --lines each line of stdin or FILE is the payload of a job of its own. Stdout gets the
ID of each that was taken or whose outcome is unknown, or with --json an object for each
line. --id X gives X/1, X/2, …, so a file that is sent twice adds nothing.

With --jsonl each line is an object, and KIND is for those that name none:
  {"id":"u7","kind":"welcome","payload":"text","delay_ms":1000}
Its fields are id, kind, queue (it must be QUEUE), payload or payload_base64, delay_ms or at, priority, lifo,
max_failures (-1 = unlimited), retention_ms and headers; flags are for lines that say nothing themselves,
and so is null. A payload that is a string is the string's text; of any other one
the JSON text is taken, as spelled. A bad line does not stop the others.

With --wait and many lines stdout gets a line for each, in their order: the result as a JSON
string, null where there is none, or with --json an object. With many lines
the program ends with the worst of 7, 5, 4, 2, 3, 8, 6, 9, 1, 0.

Exit status:
` + statusText

func (a *app) enqueueCommand() *cobra.Command {
	f := &enqueueFlags{}
	cmd := &cobra.Command{
		Use:   "enqueue QUEUE KIND [PAYLOAD | - | @FILE]",
		Short: "Send jobs",
		Long:  enqueueHelp,
		Example: `  waybill enqueue mail welcome '{"user":7}' --id user-7/welcome --in 10m
  waybill enqueue math sum '[1,2]' --wait --wait-for 30s
  waybill enqueue mail @jobs.jsonl --jsonl`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.jsonl {
				return between(1, 3)(cmd, args)
			}
			return between(2, 3)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return a.enqueue(ctx, cmd, args, f)
		},
		ValidArgsFunction: a.completeQueue,
	}
	f.define(cmd)
	cmd.SetFlagErrorFunc(payloadHint)
	return cmd
}

// interruptible gives a context that ends at the first INT or TERM.
func interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
}

func (a *app) enqueue(ctx context.Context, cmd *cobra.Command, args []string, f *enqueueFlags) error {
	if err := f.check(cmd, args[0]); err != nil {
		return err
	}
	c, err := a.connect(1)
	if err != nil {
		return err
	}
	defer c.Close()
	kind, payload := kindAndPayload(args[1:], f.jsonl)
	r := f.request(args[0], kind)
	if f.lines || f.jsonl {
		in, err := a.lineInput(cmd, payload)
		if err != nil {
			return err
		}
		defer in.Close()
		return a.enqueueLines(ctx, c, r, f, in)
	}
	if r.Payload, err = a.payload(payload); err != nil {
		return err
	}
	e, err := c.Enqueue(ctx, r)
	switch {
	case f.wait && err == nil:
		return a.enqueuedWait(ctx, waiting{c, time.Duration(f.waitFor)}, kind, e)
	case a.json && f.wait:
		return a.object(answerEnding{answer: answerTo(kind, e, 0)}, err)
	case a.json:
		return a.object(answerTo(kind, e, 0), err)
	case f.wait && e.Outcome == waybill.OutcomeUnknown:
		a.say("the ID is %s", e.ID)
		return err
	}
	return a.printID(e, err)
}

// kindAndPayload are the arguments behind the queue. With --jsonl the kind may be missing: what is
// spelled as stdin or a file is none.
func kindAndPayload(args []string, jsonl bool) (kind, payload string) {
	if jsonl && len(args) == 1 && (args[0] == "-" || strings.HasPrefix(args[0], "@")) {
		return "", args[0]
	}
	if len(args) > 0 {
		kind = args[0]
	}
	if len(args) > 1 {
		payload = args[1]
	}
	return kind, payload
}

// enqueuedWait waits for the end of a job that was taken, and answers.
func (a *app) enqueuedWait(ctx context.Context, w waiting, kind string, e waybill.Enqueued) error {
	if note := noteOn(e); note != "" {
		a.say("%s: %s", e.Outcome, note)
	}
	result, err := w.end(ctx, e.Queue, e.ID)
	switch {
	case a.json:
		return a.object(answerEnd(answerTo(kind, e, 0), result, err), err)
	case err != nil:
		return err
	}
	return a.printEnd(e.ID, result)
}
