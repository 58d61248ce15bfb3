package main

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

const publishHelp = `Publish sends an event and prints its ID on stdout, all else on stderr. Every subscription of the topic gets it.

The payload is the argument as it stands, all of stdin (-), or a file (@FILE); without one it is empty. One that begins
with "-" or "@" goes through stdin, or with "-" behind --. The same ID with the same kind and payload is one event, however
often it is sent (duplicate); with another kind or payload it is a conflict. That is known for an hour of IDs that
were given, for a minute of generated ones, unless topic set says otherwise.

A topic without subscription takes no events, unless topic set gives it a bound: they would be kept for ever.

With --lines each line of stdin or FILE is the payload of an event of its own. Stdout gets the ID of each that was taken
or whose outcome is unknown, or with --json an object for each line. --id X gives X/1, X/2, …, so a file that is sent twice
adds nothing.

With --jsonl each line is an object:
  {"id":"o7","payload":{"order":7},"headers":{"tenant":"a"}}
Its fields are id, kind, topic (it must be TOPIC), payload or payload_base64, and headers; flags are for lines that say
nothing themselves, and so is null. A payload that is a string is the string's text; of any other one the JSON
text is taken, as spelled. A bad line does not stop the others.

With many lines the program ends with the worst of 7, 5, 4, 2, 3, 1, 0.

Exit status:
` + statusText

// publishFlags are what `waybill topic publish` is told.
type publishFlags struct {
	enqueueFlags
	kind   string
	onFull publishFullFlag
}

func (a *app) topicPublishCommand() *cobra.Command {
	f := &publishFlags{}
	cmd := &cobra.Command{
		Use: "publish TOPIC [PAYLOAD | - | @FILE]", Short: "Publish events", Long: publishHelp, Args: between(1, 2),
		Example: `  waybill topic publish orders '{"order":7}' --id order-7/placed
  waybill topic publish orders @events.jsonl --jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return a.publish(ctx, cmd, args, f)
		},
		ValidArgsFunction: a.completeTopic,
	}
	v := cmd.Flags()
	v.StringVar(&f.id, "id", "", "`ID` of the event: 1 to 128 bytes without space (default: generated)")
	v.StringVar(&f.kind, "kind", "", "`KIND` of the jobs that subscriptions make of it (default: the topic's name)")
	v.Var(&f.headers, "header", "beside the payload, as traceparent=…; repeatable")
	v.Var(&f.onFull, "on-full", "if the topic is full: reject, or wait for room, without an end or so long")
	v.BoolVar(&f.lines, "lines", false, "each line of stdin or FILE is an event")
	v.BoolVar(&f.jsonl, "jsonl", false, "each line of stdin or FILE is the JSON object of an event")
	cmd.SetFlagErrorFunc(eventHint)
	return cmd
}

func (a *app) publish(ctx context.Context, cmd *cobra.Command, args []string, f *publishFlags) error {
	if err := f.check(cmd, args[0]); err != nil {
		return err
	}
	c, err := a.connect(1)
	if err != nil {
		return err
	}
	defer c.Close()
	r := waybill.Request{
		Queue: store.Address(args[0]), Kind: cmp.Or(f.kind, args[0]), ID: f.id, Headers: f.headers, OnFull: f.onFull.policy,
	}
	payload := append(args, "")[1]
	if f.lines || f.jsonl {
		in, err := a.lineInput(cmd, payload)
		if err != nil {
			return err
		}
		defer in.Close()
		return a.doubtTopic(ctx, args[0], a.enqueueLines(ctx, c, r, &f.enqueueFlags, in))
	}
	if r.Payload, err = a.payload(payload); err != nil {
		return err
	}
	e, err := c.Enqueue(ctx, r)
	_ = a.doubtTopic(ctx, args[0], err)
	if a.json {
		return a.object(answerTo(r.Kind, e, 0).object(), err)
	}
	return a.printID(e, err)
}

// doubtTopic asks whether another topic was meant where nobody subscribes to this one. It gives the error of the publish back.
func (a *app) doubtTopic(ctx context.Context, name string, err error) error {
	status, many := errors.AsType[told](err)
	if !errors.Is(err, waybill.ErrNoSubscription) && !(many && status == exitState) {
		return err
	}
	if near := a.nearTopic(ctx, name); near != "" {
		a.say("topic %s is not there%s", name, near)
	}
	return err
}

// check checks what the client can't: for it, nothing given means a default.
func (f *publishFlags) check(cmd *cobra.Command, topic string) error {
	v := cmd.Flags()
	switch {
	case v.Changed("id") && f.id == "":
		return usage(cmd, "--id is empty: leave it out to have one generated")
	case v.Changed("kind") && f.kind == "":
		return usage(cmd, "--kind is empty: leave it out, and it is the topic's name")
	case f.lines && f.jsonl:
		return usage(cmd, "--lines and --jsonl exclude each other: give one")
	}
	return store.CheckTopic(topic)
}

// eventHint names the cure where an unknown flag stands in the payload's place.
func eventHint(cmd *cobra.Command, err error) error {
	if cmd.Flags().NArg() == 1 && strings.HasPrefix(err.Error(), "unknown ") && nearFlag(cmd, err) == "" {
		return usage(cmd, "%v: "+dashHint, err)
	}
	return flagError(cmd, err)
}

// publishFullFlag is what to do where the topic is full.
type publishFullFlag struct{ policy waybill.FullPolicy }

func (f *publishFullFlag) String() string { return "reject" }
func (f *publishFullFlag) Type() string   { return "reject|wait|wait=D" }

func (f *publishFullFlag) Set(s string) error {
	of := fullFlag{waybill.FullWait}
	if s == "spill" || s != "wait" && of.Set(s) != nil {
		return errors.New("want reject, wait, or wait=D as in wait=30s")
	}
	f.policy = of.policy
	return nil
}
