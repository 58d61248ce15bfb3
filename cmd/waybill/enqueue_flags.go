package main

import (
	"strings"
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
	priority      wholeFlag
	lifo          bool
	lines, jsonl  bool
	wait          bool
	waitFor       spanFlag
	maxFailures   failuresFlag
	headers       headersFlag
	onFull        fullFlag
}

func (f *enqueueFlags) define(cmd *cobra.Command) {
	v := cmd.Flags()
	v.StringVar(&f.id, "id", "", "`ID` of the job: 1 to 128 bytes without space (default: generated)")
	v.Var(&f.in, "in", "due so long after now, by the clock of Redis")
	v.Var(&f.at, "at", "due then: RFC 3339, to the millisecond; a past time is now")
	v.Var(&f.priority, "priority", "from -1000 to 1000, higher first")
	v.BoolVar(&f.lifo, "lifo", false, "before those of its priority that wait")
	v.Var(&f.maxFailures, "max-failures", "the failure that kills the job (default: the worker's)")
	v.Var(&f.retention, "retention", "keep the ended job and its result so long")
	v.Var(&f.headers, "header", "beside the payload, as traceparent=…; repeatable")
	v.Var(&f.onFull, "on-full", "if the queue is full: reject, wait so long for room, or spill (keep aside until there is room)")
	v.BoolVar(&f.lines, "lines", false, "each line of stdin or FILE is a job")
	v.BoolVar(&f.jsonl, "jsonl", false, "each line of stdin or FILE is the JSON object of a job")
	v.BoolVar(&f.wait, "wait", false, "wait for the end, and print the result")
	v.Var(&f.waitFor, "wait-for", "wait no longer than that for the end of a job (with this --wait goes without saying)")
	quietDefaults(cmd, "in", "max-failures", "retention")
}

// request is what all jobs of the call have in common.
func (f *enqueueFlags) request(queue, kind string) waybill.Request {
	return waybill.Request{
		Queue: queue, Kind: kind, ID: f.id, Headers: f.headers, Priority: int(f.priority), LIFO: f.lifo,
		Delay: time.Duration(f.in), At: f.at.t, MaxFailures: int(f.maxFailures.n),
		Retention: time.Duration(f.retention), OnFull: f.onFull.policy,
	}
}

// quietDefaults keeps zero values out of the help text.
func quietDefaults(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		cmd.Flags().Lookup(name).DefValue = ""
	}
}

// check checks what the client can't: for it, nothing given means a default. It completes what
// goes without saying.
func (f *enqueueFlags) check(cmd *cobra.Command, queue string) error {
	v := cmd.Flags()
	switch {
	case v.Changed("id") && f.id == "":
		return usage(cmd, "--id is empty: leave it out to have one generated")
	case v.Changed("in") && v.Changed("at"):
		return usage(cmd, "--in and --at exclude each other: give one")
	case f.lines && f.jsonl:
		return usage(cmd, "--lines and --jsonl exclude each other: give one")
	}
	f.wait = f.wait || f.waitFor > 0
	if f.wait && !v.Changed("retention") {
		f.retention = durationFlag(waybill.CallRetention) // so that there is a result to read
	}
	return store.CheckQueue(queue)
}

const dashHint = "to send a payload that begins with -, put -- before it, or send it by stdin"

// payloadHint names the cure where an unknown flag stands in the payload's place.
func payloadHint(cmd *cobra.Command, err error) error {
	if cmd.Flags().NArg() == 2 && strings.HasPrefix(err.Error(), "unknown ") && nearFlag(cmd, err) == "" {
		return usage(cmd, "%v: "+dashHint, err)
	}
	return flagError(cmd, err)
}
