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
	"github.com/waybillhq/waybill/internal/store"
)

// enqueueFlags are what `waybill enqueue` is told.
type enqueueFlags struct {
	id            string
	in, retention durationFlag
	at            timeFlag
	priority      int
	lifo, lines   bool
	maxFailures   failuresFlag
	headers       headersFlag
	onFull        fullFlag
}

func (a *app) enqueueCommand() *cobra.Command {
	f := &enqueueFlags{}
	cmd := &cobra.Command{
		Use:   "enqueue QUEUE KIND [PAYLOAD | - | @FILE]",
		Short: "Send jobs",
		Long: `Enqueue sends a job and prints its ID on stdout, all else on stderr:
  id=$(waybill enqueue mail welcome '{"user":7}')

The payload is the argument as it stands, all of stdin (-), or a file (@FILE); without
one it is empty. One that begins with "-" or "@" goes through stdin, or with "-" behind --.
The same ID with the same kind and payload is one job, however often it is
sent (duplicate); with another kind or payload it is a conflict.

With --lines each line of stdin or FILE is the payload of a job of its own. Stdout gets the
ID of each that was taken or whose outcome is unknown, or with --json an object for each
line. --id X gives X/1, X/2, …, so a file that is sent twice adds nothing. The program then ends with the worst of 7, 5, 4, 2, 3, 1, 0.

Exit status:
` + statusText,
		Args: between(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return a.enqueue(ctx, cmd, args, f)
		},
	}
	f.define(cmd)
	cmd.SetFlagErrorFunc(payloadHint)
	return cmd
}

// payloadHint names the cure where an unknown flag stands in the payload's place.
func payloadHint(cmd *cobra.Command, err error) error {
	if cmd.Flags().NArg() == 2 && strings.HasPrefix(err.Error(), "unknown ") {
		return usage(cmd, "%v: to send a payload that begins with -, put -- before it, or send it by stdin", err)
	}
	return usage(cmd, "%v", err)
}

func (f *enqueueFlags) define(cmd *cobra.Command) {
	v := cmd.Flags()
	v.StringVar(&f.id, "id", "", "`ID` of the job: 1 to 128 bytes without space (default: generated)")
	v.Var(&f.in, "in", "due so long after now, by the clock of Redis")
	v.Var(&f.at, "at", "due then: RFC 3339, to the millisecond; a past time is now")
	v.IntVar(&f.priority, "priority", 0, "from -1000 to 1000, higher first")
	v.BoolVar(&f.lifo, "lifo", false, "before those of its priority that wait")
	v.Var(&f.maxFailures, "max-failures", "the failure that kills the job (default: the worker's)")
	v.Var(&f.retention, "retention", "keep the ended job and its result so long")
	v.Var(&f.headers, "header", "beside the payload, as traceparent=…; repeatable")
	v.Var(&f.onFull, "on-full", "if the queue is full: reject, wait so long for room, or spill (keep aside until there is room)")
	v.BoolVar(&f.lines, "lines", false, "each line of stdin or FILE is a job")
	quietDefaults(cmd, "in", "max-failures", "retention")
}

// interruptible gives a context that ends at the first INT or TERM.
func interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
}

// quietDefaults keeps zero values out of the help text.
func quietDefaults(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		cmd.Flags().Lookup(name).DefValue = ""
	}
}

// request is what all jobs of the call have in common.
func (f *enqueueFlags) request(queue, kind string) waybill.Request {
	return waybill.Request{
		Queue: queue, Kind: kind, ID: f.id, Headers: f.headers, Priority: f.priority, LIFO: f.lifo,
		Delay: time.Duration(f.in), At: f.at.t, MaxFailures: int(f.maxFailures.n),
		Retention: time.Duration(f.retention), OnFull: f.onFull.policy,
	}
}

func (a *app) enqueue(ctx context.Context, cmd *cobra.Command, args []string, f *enqueueFlags) error {
	if err := f.check(cmd, args[0]); err != nil {
		return err
	}
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	payload := ""
	if len(args) == 3 {
		payload = args[2]
	}
	r := f.request(args[0], args[1])
	if f.lines {
		in, err := a.lineInput(cmd, payload)
		if err != nil {
			return err
		}
		defer in.Close()
		return a.enqueueLines(ctx, c, r, in)
	}
	if r.Payload, err = a.payload(payload); err != nil {
		return err
	}
	e, err := c.Enqueue(ctx, r)
	if !a.json {
		return a.printID(e, err)
	}
	if failed := printJSON(a.stdout, answerTo(r.Kind, e, 0)); failed != nil || err == nil {
		return failed
	}
	return answered{err}
}

// check checks what the client can't: for it, nothing given means a default.
func (f *enqueueFlags) check(cmd *cobra.Command, queue string) error {
	switch v := cmd.Flags(); {
	case v.Changed("id") && f.id == "":
		return usage(cmd, "--id is empty: leave it out to have one generated")
	case v.Changed("in") && v.Changed("at"):
		return usage(cmd, "--in and --at exclude each other: give one")
	}
	return store.CheckQueue(queue)
}
