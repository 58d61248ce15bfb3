package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
)

// mostWaits bounds the jobs of many lines that are waited for at a time.
const mostWaits = 10_000

// enqueueLines sends a job a line.
func (a *app) enqueueLines(ctx context.Context, c connection, r waybill.Request, f *enqueueFlags, in io.Reader) error {
	sample := record.Job{
		Kind: r.Kind, Headers: r.Headers, Delay: r.Delay, At: r.At, Retention: r.Retention, MaxFailures: r.MaxFailures,
	}
	if f.jsonl {
		sample.Kind = cmp.Or(sample.Kind, "x")
	}
	if err := sample.Check("x", r.Priority); err != nil { // told once, and not for each line
		return err
	}
	s := &sender{
		app: a, client: c, live: a.liveLine(), read: plainLines{r}, tally: newTally(), waiting: waiting{c, time.Duration(f.waitFor)}, wait: f.wait,
	}
	if f.jsonl {
		s.read = objectLines{r}
	}
	return s.feed(ctx, in)
}

// lineInput opens what an argument stands for: stdin, or a file.
func (a *app) lineInput(cmd *cobra.Command, arg string) (io.ReadCloser, error) {
	path, isFile := strings.CutPrefix(arg, "@")
	switch {
	case isFile:
		f, err := os.Open(path)
		if err != nil {
			return nil, &usageError{fmt.Sprintf("lines: %v", err)}
		}
		return f, nil
	case arg == "" || arg == "-":
		return io.NopCloser(a.stdin), nil
	}
	return nil, usage(cmd, "--lines and --jsonl read stdin or @FILE, not a payload")
}

// lineJobs makes jobs of lines. The error is of that line alone; the request has its ID all the same.
type lineJobs interface {
	request(l line) (waybill.Request, error)
	most() int // bytes of a line
}

// plainLines are payloads.
type plainLines struct{ common waybill.Request }

func (p plainLines) most() int { return record.MaxPayload }

func (p plainLines) request(l line) (waybill.Request, error) {
	r := numbered(p.common, l)
	if l.size > record.MaxPayload {
		return r, tooLong(l.size)
	}
	r.Payload = l.text
	return r, nil
}

// numbered is the request of a line that names no ID.
func numbered(r waybill.Request, l line) waybill.Request {
	if r.ID != "" {
		r.ID = fmt.Sprintf("%s/%d", r.ID, l.number)
	}
	return r
}
