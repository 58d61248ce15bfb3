package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
)

// sender sends lines and answers each, in order. It is for one goroutine.
type sender struct {
	app     *app
	read    lineJobs
	hand    func(context.Context, []lineJob) []waybill.Enqueued // sends jobs, and gives an answer a job
	tally   tally
	live    *liveLine // how far it is
	waiting waiting
	wait    bool
	pending []*sentLine // that are waited for, in order
	told    complaint
}

// sentLine is a line and what became of it.
type sentLine struct {
	number int64
	kind   string
	e      waybill.Enqueued
	over   chan struct{} // closed when the job has ended; nil = it is not waited for
	result []byte
	err    error // of the wait
}

// feed sends what it reads.
func (s *sender) feed(ctx context.Context, in io.Reader) error {
	batches, failed := make(chan []line), make(chan error, 1)
	go func() { // it may wait for input when the program ends
		defer close(batches)
		failed <- feed(ctx, &lineReader{r: bufio.NewReaderSize(in, readAhead), most: s.read.most()}, batches)
	}()
	return s.run(ctx, batches, failed)
}

// run sends what comes, until all is answered.
func (s *sender) run(ctx context.Context, batches <-chan []line, failed <-chan error) error {
	var ending error
	for batches != nil || len(s.pending) > 0 {
		in, first := batches, (<-chan struct{})(nil)
		if len(s.pending) > 0 {
			first = s.pending[0].over
		}
		if len(s.pending) >= mostWaits {
			in = nil
		}
		select {
		case <-ctx.Done():
			return s.finish(fmt.Errorf("%w: nothing after line %d was sent", errInterrupted, s.tally.lines))
		case b, ok := <-in:
			if !ok {
				batches, ending = nil, <-failed
				continue
			}
			if err := s.send(ctx, b); err != nil {
				return err
			}
		case <-first:
			if err := s.printOver(); err != nil {
				return err
			}
		}
		s.live.show(s.summary)
	}
	return s.finish(ending)
}

// send sends a batch, and prints its answers or begins to wait.
func (s *sender) send(ctx context.Context, lines []line) error {
	var sent, going []*sentLine
	var jobs []lineJob
	for _, l := range lines {
		j, err := s.read.job(l)
		if errors.Is(err, errSkipped) {
			s.tally.skip()
			continue
		}
		to := &sentLine{number: l.number, kind: j.Kind}
		sent = append(sent, to)
		if err != nil {
			id := cmp.Or(j.ID, record.NewID(time.Now()))
			to.e = waybill.Enqueued{ID: id, Queue: j.Queue, Outcome: waybill.OutcomeInvalid, Err: err}
			continue
		}
		jobs, going = append(jobs, j), append(going, to)
	}
	for i, e := range s.hand(ctx, jobs) {
		going[i].e = e
	}
	for _, l := range sent {
		s.tally.add(l.e)
		if s.wait && l.e.Err == nil {
			l.over = make(chan struct{})
			go s.end(ctx, l)
		}
	}
	s.pending = append(s.pending, sent...)
	return s.printOver()
}

// end waits for the end of a line's job.
func (s *sender) end(ctx context.Context, l *sentLine) {
	defer close(l.over)
	l.result, l.err = s.waiting.end(ctx, l.e.Queue, l.e.ID)
}

// isOver tells whether a line can be answered.
func (l *sentLine) isOver() bool {
	if l.over == nil {
		return true
	}
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// printOver answers the first lines, up to one that is waited for.
func (s *sender) printOver() error {
	out := bufio.NewWriter(s.app.stdout)
	for len(s.pending) > 0 && s.pending[0].isOver() {
		l := s.pending[0]
		s.pending = s.pending[1:]
		if l.over != nil {
			s.tally.end(l.err)
		}
		if err := s.print(out, l); err != nil {
			return err
		}
	}
	return out.Flush()
}

// print answers one line. What went wrong is told to people too.
func (s *sender) print(out io.Writer, l *sentLine) error {
	err := l.e.Err
	if err == nil {
		err = l.err
	}
	switch a := answerTo(l.kind, l.e, l.number); {
	case s.app.json && l.over != nil:
		return printJSON(out, answerEnd(a, l.result, l.err))
	case s.app.json && s.wait:
		return printJSON(out, answerEnding{answer: a})
	case s.app.json:
		return printJSON(out, a.object())
	}
	if s.wait && err == nil && !utf8.Valid(l.result) {
		err = errNotText
		s.tally.raise(err)
	}
	if err != nil {
		s.complain(l.number, message(err))
	}
	if s.wait {
		return printResult(out, l.result, err)
	}
	return printThere(out, l.e)
}

var errNotText = errors.New("the result is not UTF-8: with --json it is there as result_base64")

// printResult prints a result as a JSON string.
func printResult(out io.Writer, result []byte, err error) error {
	if err != nil || result == nil {
		return printJSON(out, nil)
	}
	return printJSON(out, string(result))
}
