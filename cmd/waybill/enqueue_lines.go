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
	"github.com/waybillhq/waybill/internal/store"
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
		app: a, live: a.liveLine(), read: plainLines{r}, tally: newTally(), waiting: waiting{c, time.Duration(f.waitFor)}, wait: f.wait,
	}
	if f.jsonl {
		s.read = objectLines{r, fieldsFor(r.Queue)}
	}
	s.hand = func(ctx context.Context, jobs []lineJob) []waybill.Enqueued {
		requests := make([]waybill.Request, len(jobs))
		for i, j := range jobs {
			requests[i] = j.Request
		}
		said, _ := c.EnqueueMany(ctx, requests) // each answer has its error
		return said
	}
	return s.feed(ctx, in)
}

// fieldsFor are the fields of lines that go to a queue or topic.
func fieldsFor(address string) fieldSet {
	if _, ok := store.TopicOf(address); ok {
		return ofEvent()
	}
	return ofJob()
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
	return nil, usage(cmd, "lines are read from stdin or @FILE, not from the arguments")
}

// lineJob is the job of a line: one to be enqueued, or one that comes back from an export.
type lineJob struct {
	waybill.Request
	back waybill.JobInfo
}

// lineJobs makes jobs of lines. The error is of that line alone; the job has its ID all the same.
type lineJobs interface {
	job(l line) (lineJob, error)
	most() int // bytes of a line
}

// plainLines are payloads.
type plainLines struct{ common waybill.Request }

func (p plainLines) most() int { return record.MaxPayload }

func (p plainLines) job(l line) (lineJob, error) {
	j := lineJob{Request: numbered(p.common, l)}
	if l.size > record.MaxPayload {
		return j, tooLong(l.size)
	}
	j.Payload = l.text
	return j, nil
}

// numbered is the request of a line that names no ID.
func numbered(r waybill.Request, l line) waybill.Request {
	if r.ID != "" {
		r.ID = fmt.Sprintf("%s/%d", r.ID, l.number)
	}
	return r
}
