package history

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
)

// Recorder writes the history of one process. It is safe for concurrent use. Each line is one call of Write, so many
// processes may append to one file.
type Recorder struct {
	process string

	mu       sync.Mutex
	w        io.Writer
	err      error
	returned map[handled]int64  // when handlers returned whose end was not told yet, or when that was sent
	tokens   map[string]handled // of attempts whose end was not sent yet
}

// handled is an attempt whose handler has returned.
type handled struct {
	queue, job string
	number     int
}

// asked is the code of an enqueue that is about to be sent.
const asked = "asked"

// mostReturned bounds what a recorder keeps that is given to Worker.Use alone.
const mostReturned = 100_000

// New gives a recorder that writes to w in the name of a process.
func New(w io.Writer, process string) *Recorder {
	return &Recorder{process: process, w: w, returned: map[handled]int64{}, tokens: map[string]handled{}}
}

// Err is the first error of writing; what came after it was not written.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Write writes a line. It fills in the process, and Done where that is zero.
func (r *Recorder) Write(e Event) {
	e.Process = cmp.Or(e.Process, r.process)
	e.Done = cmp.Or(e.Done, Now())
	e.AtMS = time.Now().UnixMilli()
	line, err := json.Marshal(e)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return
	}
	if r.err = err; err == nil {
		_, r.err = r.w.Write(append(line, '\n'))
	}
}

// Enqueues records that each enqueue of a client was asked for, and what becomes of it; give it to Client.Use last, so that
// nothing changes a request after it. A process that dies between the two leaves the first line alone.
func (r *Recorder) Enqueues(next waybill.Enqueuer) waybill.Enqueuer {
	return func(ctx context.Context, requests []waybill.Request) []waybill.Enqueued {
		begun := Now()
		asks := make([]Event, len(requests))
		for i, q := range requests {
			asks[i] = Event{
				Op: OpEnqueue, Begun: begun, Done: begun, Queue: q.Queue, Job: q.ID, DelayMS: q.Delay.Milliseconds(),
				Hash: Hash(q.Kind, q.Payload, q.Headers, q.Priority), Fingerprint: record.Fingerprint(q.Kind, q.Payload),
				Outcome: Unknown, Code: asked,
			}
			r.Write(asks[i])
		}
		answers := next(ctx, requests)
		done := Now()
		for i, a := range answers {
			e := asks[i]
			e.Done, e.Queue, e.Job, e.Outcome, e.Code = done, a.Queue, a.ID, OutcomeOf(a.Err), string(a.Outcome)
			if a.Err != nil {
				e.Code = codeOf(a)
			}
			r.Write(e)
		}
		return answers
	}
}

// Attempts records each handler that begins; give it to Worker.Use, and Observe to the worker's options.
func (r *Recorder) Attempts(next waybill.Handler) waybill.Handler {
	return func(ctx context.Context, a *waybill.Attempt) ([]byte, error) {
		r.Write(Event{
			Op: OpAttempt, Queue: a.Queue, Job: a.ID, Event: a.Event, Token: a.Token, Number: a.Number,
			Hash: Hash(a.Kind, a.Payload, a.Headers, a.Priority), ClaimedMS: a.ClaimedAt.UnixMilli(), DueMS: a.DueAt.UnixMilli(),
		})
		h := handled{a.Queue, a.ID, a.Number}
		r.handlerBegins(a.Token, h)
		defer r.handlerReturned(h)
		return next(ctx, a)
	}
}

func (r *Recorder) handlerBegins(token string, h handled) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.tokens) >= mostReturned {
		clear(r.tokens)
	}
	r.tokens[token] = h
}

// Sending says that the call which ends the attempt of a token is about to be made: its line's Begun is then this moment, not
// that when the handler returned. It is for those who see the calls, and makes the check of stale ends sharper. Of several
// calls the first counts; a token that is not known is passed over.
func (r *Recorder) Sending(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h, ok := r.tokens[token]; ok {
		r.returned[h] = Now()
		delete(r.tokens, token)
	}
}

func (r *Recorder) handlerReturned(h handled) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.returned) >= mostReturned {
		clear(r.returned) // ends then say nothing of when they began
	}
	r.returned[h] = Now()
}

// whenReturned is when the handler of an attempt returned, 0 where that is not known. It is asked once.
func (r *Recorder) whenReturned(h handled) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.returned[h]
	delete(r.returned, h)
	return at
}

// Observe records how attempts end; give it to WorkerOptions.Observe.
func (r *Recorder) Observe(e waybill.Event) {
	if e.Type != waybill.EventEnded {
		return
	}
	line := Event{
		Op: OpEnd, Begun: r.whenReturned(handled{e.Queue, e.ID, e.Attempt}),
		Queue: e.Queue, Job: e.ID, Number: e.Attempt, Outcome: Fail, Code: string(e.Outcome),
	}
	if e.Recorded {
		line.Outcome = OK
	}
	r.Write(line)
}

// Hash is of what a job is: it is the same where all of it is.
func Hash(kind string, payload []byte, headers map[string]string, priority int) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %d ", kind, priority)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		fmt.Fprintf(h, "%q %q ", name, headers[name])
	}
	h.Write(payload)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// OutcomeOf tells what an error of a call says of it.
func OutcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return OK
	case errors.Is(err, waybill.ErrUnknown):
		return Unknown
	}
	return Fail
}

// codeOf is the word for an enqueue that was not taken.
func codeOf(a waybill.Enqueued) string {
	for word, err := range map[string]error{
		"unknown": waybill.ErrUnknown, "unavailable": waybill.ErrUnavailable, "conflict": waybill.ErrConflict, "rejected": waybill.ErrFull,
	} {
		if errors.Is(a.Err, err) {
			return word
		}
	}
	return cmp.Or(string(a.Outcome), "error")
}
