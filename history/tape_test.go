package history_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/waybillhq/waybill/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tape is a history in the order of its lines. Times are in milliseconds.
type tape []history.Event

func (l tape) read(t *testing.T) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	for _, e := range l {
		line, err := json.Marshal(e)
		must(t, err)
		b.Write(append(line, '\n'))
	}
	return &b
}

// fact is a small history and the promises that it breaks.
type fact struct {
	lines  tape
	breaks string // names with spaces between
	text   string // part of what is said of the first
}

// hold checks each history of a table, and that the promise the table is about was looked at.
func hold(t *testing.T, name string, facts map[string]fact) {
	t.Parallel()
	for what, f := range facts {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r, err := history.Check(f.lines.read(t))
			must(t, err)
			broken, text := []string{}, ""
			for _, i := range r.Invariants {
				if i.Violated > 0 {
					broken = append(broken, i.Name)
					text += i.Violations[0].Text + "; "
				}
			}
			if got := strings.Join(broken, " "); got != f.breaks || !strings.Contains(text, f.text) {
				t.Errorf("it breaks %q (%s), want %q (%s)", got, text, f.breaks, f.text)
			}
			if r.Clean() != (f.breaks == "") {
				t.Errorf("clean is %v", r.Clean())
			}
			if r.Invariant(name).Looked == 0 {
				t.Errorf("nothing was held against %s", name)
			}
		})
	}
}

const milli = int64(time.Millisecond)

func line(op history.Op, at int64, job string, change ...func(*history.Event)) history.Event {
	e := history.Event{Op: op, Queue: "q", Job: job, Done: (1000 + at) * milli, Outcome: history.OK}
	for _, c := range change {
		c(&e)
	}
	return e
}

func enqueue(at int64, job string, change ...func(*history.Event)) history.Event {
	return line(history.OpEnqueue, at, job, append([]func(*history.Event){code("accepted"), begun(at - 1), hash("h")}, change...)...)
}

func attempt(at int64, job string, number int, change ...func(*history.Event)) history.Event {
	return line(history.OpAttempt, at, job, append([]func(*history.Event){numbered(number), hash("h"), outcome("")}, change...)...)
}

func end(at int64, job string, number int, how string, change ...func(*history.Event)) history.Event {
	return line(history.OpEnd, at, job, append([]func(*history.Event){numbered(number), code(how), begun(at - 1)}, change...)...)
}

func stands(job, state string, attempts int, change ...func(*history.Event)) history.Event {
	return line(history.OpJob, 0, job, append([]func(*history.Event){numbered(attempts), code(state), outcome("")}, change...)...)
}

// whole is a job's life without any trouble.
func whole(job string) tape {
	return tape{enqueue(1, job), attempt(2, job, 1), end(4, job, 1, "completed"), stands(job, "completed", 1)}
}

func run(grade string, lossMS int64) history.Event {
	return history.Event{Op: history.OpRun, Grade: grade, LossMS: lossMS}
}

func killed(at int64) history.Event {
	return history.Event{Op: history.OpFault, Code: "redis killed", Outcome: history.OK, Done: (1000 + at) * milli}
}

// Changes of a line.
func code(c string) func(*history.Event) { return func(e *history.Event) { e.Code = c } }

func hash(h string) func(*history.Event) { return func(e *history.Event) { e.Hash = h } }

func fingerprint(f string) func(*history.Event) { return func(e *history.Event) { e.Fingerprint = f } }
func token(tok string) func(*history.Event)     { return func(e *history.Event) { e.Token = tok } }

func begun(at int64) func(*history.Event) {
	return func(e *history.Event) { e.Begun = (1000 + at) * milli }
}

func numbered(n int) func(*history.Event) { return func(e *history.Event) { e.Number = n } }

func in(queue string) func(*history.Event) { return func(e *history.Event) { e.Queue = queue } }

func of(event string) func(*history.Event) { return func(e *history.Event) { e.Event = event } }

func outcome(o history.Outcome) func(*history.Event) { return func(e *history.Event) { e.Outcome = o } }

func delayed(by int64) func(*history.Event) { return func(e *history.Event) { e.DelayMS = by } }

func claimed(at, due int64) func(*history.Event) {
	return func(e *history.Event) { e.ClaimedMS, e.DueMS = at, due }
}

func failures(n int) func(*history.Event) { return func(e *history.Event) { e.Failures = n } }

func late(by int64) func(*history.Event) { return func(e *history.Event) { e.LateMS = by } }

func stats(of map[string]any) func(*history.Event) { return func(e *history.Event) { e.Stats = of } }

func room(live, capacity int64) func(*history.Event) {
	return func(e *history.Event) { e.Live, e.Capacity = live, capacity }
}

func keys(left, before int64) func(*history.Event) {
	return func(e *history.Event) { e.Keys, e.Base = left, before }
}

// but is a history without the line at a place, and with others behind it.
func (l tape) but(without int, more ...history.Event) tape {
	return append(slices.Delete(slices.Clone(l), without, without+1), more...)
}

// and is a history with more lines.
func (l tape) and(more ...history.Event) tape { return append(slices.Clone(l), more...) }
