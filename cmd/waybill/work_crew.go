package main

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/cmd/waybill/internal/pipe"
	"github.com/waybillhq/waybill/cmd/waybill/internal/process"
)

// crew is what does a worker's jobs: processes, or somebody that is asked by HTTP.
type crew struct {
	name   string // for the log
	handle waybill.Handler
	retry  waybill.RetryPolicy // nil = the worker's
	timed  bool                // it ends attempts by --timeout itself
	run    func(ctx context.Context, work func(context.Context) error) error
	kill   func()       // ends all at once
	unable func() error // says why no job can be done now, or nil
	close  func()
}

// crew makes the one that was asked for. ending is closed when its jobs are to end undone.
func (a *app) crew(cmd *cobra.Command, f *workFlags, log *slog.Logger, ending <-chan struct{}) (*crew, error) {
	straight := func(ctx context.Context, work func(context.Context) error) error { return work(ctx) }
	nothing := func() {}
	switch {
	case f.http.url != "":
		s, starts, err := a.sender(cmd, f, log, ending)
		if err != nil {
			return nil, err
		}
		return &crew{
			name: "http", handle: s.Handle, retry: sparing, run: straight, kill: nothing, unable: starts.Why, close: s.Close,
		}, nil
	case f.pipe:
		p := pipe.New(pipe.Options{
			Argv: a.argv, Env: jobless(a.env), Stderr: a.stderr, Size: f.children(),
			ReadyTimeout: time.Duration(f.ready), Timeout: time.Duration(f.timeout), Snooze: time.Duration(f.snooze), Ending: ending, Log: log,
		})
		return &crew{
			name: strings.Join(a.argv, " "), handle: p.Handle, timed: true, run: p.Run, kill: p.Kill, unable: p.Unable, close: nothing,
		}, nil
	}
	c := &commands{
		argv: a.argv, env: a.env, snooze: time.Duration(f.snooze), stderr: a.stderr, starts: process.NewStarts(log), ending: ending,
	}
	return &crew{
		name: strings.Join(a.argv, " "), handle: c.handle, run: straight, kill: c.running.Kill, unable: c.starts.Why, close: nothing,
	}, nil
}

// children is how many processes --pipe has: one a slot.
func (f *workFlags) children() (n int) {
	for _, q := range f.each() {
		n += q.Concurrency
	}
	return n
}
