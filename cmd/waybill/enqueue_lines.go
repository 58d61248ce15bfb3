package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
)

// enqueueLines sends a job a line.
func (a *app) enqueueLines(ctx context.Context, c connection, r waybill.Request, in io.Reader) error {
	sample := record.Job{
		Kind: r.Kind, Headers: r.Headers, Delay: r.Delay, At: r.At, Retention: r.Retention, MaxFailures: r.MaxFailures,
	}
	if err := sample.Check("x", r.Priority); err != nil { // told once, and not for each line
		return err
	}
	s := &sender{app: a, client: c, r: r, tally: tally{counts: map[waybill.Outcome]int64{}}}
	batches, failed := make(chan []line), make(chan error, 1)
	go func() { // it may wait for input when the program ends
		defer close(batches)
		failed <- feed(ctx, &lineReader{r: bufio.NewReaderSize(in, readAhead)}, batches)
	}()
	for {
		select {
		case <-ctx.Done():
			return s.finish(fmt.Errorf("%w: nothing after line %d was sent", errInterrupted, s.tally.lines))
		case b, ok := <-batches:
			if !ok {
				return s.finish(<-failed)
			}
			if err := s.send(ctx, b); err != nil {
				return err
			}
		}
	}
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
	return nil, usage(cmd, "--lines reads stdin or @FILE, not a payload")
}

// sender sends lines and answers each.
type sender struct {
	app    *app
	client connection
	r      waybill.Request
	tally  tally
	shown  time.Time // when progress was last shown
}

// send sends a batch and prints its answers, in order.
func (s *sender) send(ctx context.Context, lines []line) error {
	requests := make([]waybill.Request, 0, len(lines))
	for _, l := range lines {
		if l.size <= record.MaxPayload {
			requests = append(requests, s.request(l))
		}
	}
	said, _ := s.client.EnqueueMany(ctx, requests) // each answer has its error
	out := bufio.NewWriter(s.app.stdout)
	for _, l := range lines {
		e := s.refuse(l)
		if l.size <= record.MaxPayload {
			e, said = said[0], said[1:]
		}
		if err := s.print(out, l.number, e); err != nil {
			return err
		}
		s.tally.add(e)
	}
	s.progress()
	return out.Flush()
}

// refuse answers a line that is too long to be sent.
func (s *sender) refuse(l line) waybill.Enqueued {
	id := s.request(l).ID
	if id == "" {
		id = record.NewID(time.Now())
	}
	return waybill.Enqueued{ID: id, Queue: s.r.Queue, Outcome: waybill.OutcomeInvalid, Err: tooLong(l.size)}
}

func (s *sender) request(l line) waybill.Request {
	r := s.r
	r.Payload = l.payload
	if r.ID != "" {
		r.ID += "/" + strconv.FormatInt(l.number, 10)
	}
	return r
}

// print answers one line: the object, or the ID alone where the job is there or may be there. What
// went wrong is told to people too.
func (s *sender) print(out io.Writer, number int64, e waybill.Enqueued) error {
	if s.app.json {
		return printJSON(out, answerTo(s.r.Kind, e, number))
	}
	if e.Err != nil {
		s.clear()
		s.app.say("line %d: %s", number, message(e.Err))
	}
	return printThere(out, e)
}

// summary is how many lines had which outcome.
func (s *sender) summary() string {
	return fmt.Sprintf("%s: %s", count(s.tally.lines, "line"), s.tally.summary())
}

// progress shows how far it is, on a terminal only, five times a second.
func (s *sender) progress() {
	if isTerminal(s.app.stderr) && time.Since(s.shown) > 200*time.Millisecond {
		s.shown = time.Now()
		fmt.Fprint(s.app.stderr, clearLine, s.summary())
	}
}

// clear takes the progress line away.
func (s *sender) clear() {
	if !s.shown.IsZero() {
		fmt.Fprint(s.app.stderr, clearLine)
	}
}

// finish sums up and gives the worst status. err is what ended the reading before its time.
func (s *sender) finish(err error) error {
	s.clear()
	s.app.say("%s", s.summary())
	if err != nil {
		s.tally.raise(err)
		s.app.say("%s", message(err))
	}
	return s.tally.err()
}
