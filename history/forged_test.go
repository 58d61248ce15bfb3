package history_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/history"
)

// forgery changes a history of a real run, so that it breaks a promise.
type forgery struct {
	breaks string // one of those that it breaks
	forge  func(l tape) tape
}

// is finds lines.
type is func(history.Event) bool

func (l tape) at(t *testing.T, what is) int {
	t.Helper()
	i := slices.IndexFunc(l, what)
	if i < 0 {
		t.Fatal("the run has no such line")
	}
	return i
}

func ofJob(op history.Op, job string) is {
	return func(e history.Event) bool { return e.Op == op && e.Job == job && !strings.HasPrefix(e.Queue, "topic:") }
}

func nth(op history.Op, job string, number int) is {
	return func(e history.Event) bool { return e.Op == op && e.Job == job && e.Number == number }
}

func without(what is) func(tape) tape {
	return func(l tape) tape { return slices.DeleteFunc(l, what) }
}

// twice repeats the first such line with a change.
func twice(t *testing.T, what is, change func(*history.Event)) func(tape) tape {
	return func(l tape) tape {
		e := l[l.at(t, what)]
		change(&e)
		return append(l, e)
	}
}

// changed changes all such lines.
func changed(what is, change func(*history.Event)) func(tape) tape {
	return func(l tape) tape {
		for i := range l {
			if what(l[i]) {
				change(&l[i])
			}
		}
		return l
	}
}

func same(*history.Event) {}

// Jobs of record: it keeps odd ones for an hour; 11 completes at once, 17 fails first, 19 dies.
const completes, fails, dies = "job-11", "job-17", "job-19"

func TestCheck_Forged(t *testing.T) {
	t.Parallel()
	truth := withEffects(recordedLines(t))
	if r, err := history.Check(truth.read(t)); err != nil || !r.Clean() {
		t.Fatalf("the run itself is not clean: %+v, %v", r, err)
	}
	for what, f := range forgeries(t, truth) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			r, err := history.Check(f.forge(slices.Clone(truth)).read(t))
			must(t, err)
			if r.Invariant(f.breaks).Violated == 0 {
				t.Errorf("%s finds nothing", f.breaks)
			}
		})
	}
}

func recordedLines(t *testing.T) (l tape) {
	t.Helper()
	file, err := os.Open(record(t).path)
	must(t, err)
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e history.Event
		must(t, json.Unmarshal(lines.Bytes(), &e))
		l = append(l, e)
	}
	return append(l, history.Event{Op: history.OpRun, WindowMS: 3_600_000, WaitMS: 60_000})
}

// withEffects is the history as if handlers had written rows with receipts where they completed.
func withEffects(l tape) tape {
	out := append(slices.Clone(l), history.Event{Op: history.OpLedger, Queue: "sums"})
	for _, end := range l {
		if end.Op != history.OpEnd || end.Code != "completed" || end.Queue != "sums" {
			continue
		}
		a := l[slices.IndexFunc(l, nth(history.OpAttempt, end.Job, end.Number))]
		for _, op := range []history.Op{history.OpEffect, history.OpReceipt} {
			out = append(out, history.Event{Op: op, Queue: a.Queue, Job: a.Job, Token: a.Token})
		}
	}
	return out
}

func forgeries(t *testing.T, truth tape) map[string]forgery {
	t.Helper()
	second := truth[truth.at(t, nth(history.OpAttempt, fails, 2))]
	last := func(e *history.Event) { e.Begun, e.Done = second.Done+1, second.Done+2 }
	event := truth[truth.at(t, func(e history.Event) bool { return e.Queue == "topic:orders" })].Job
	sums := func(op history.Op) is { return func(e history.Event) bool { return e.Op == op && e.Queue == "sums" } }
	counter := func(name string, by float64) func(*history.Event) {
		return func(e *history.Event) {
			e.Stats = map[string]any{"accepted": e.Stats["accepted"]}
			for n, v := range truth[truth.at(t, sums(history.OpQueue))].Stats {
				e.Stats[n] = v
			}
			n, _ := e.Stats[name].(float64)
			e.Stats[name] = n + by
		}
	}
	return map[string]forgery{
		"a job that completed is in no account":      {"I1", without(ofJob(history.OpJob, completes))},
		"one that the window alone knows is in none": {"I1", without(ofJob(history.OpJob, "job-10"))},
		"a whole queue is in no account": {"I1", without(func(e history.Event) bool {
			return e.Queue == "sums" && (e.Op == history.OpJob || e.Op == history.OpQueue)
		})},
		"a job stands twice":                  {"I1", twice(t, ofJob(history.OpJob, completes), same)},
		"a job was never enqueued":            {"I2", without(ofJob(history.OpEnqueue, completes))},
		"a payload was changed":               {"I2", changed(ofJob(history.OpAttempt, completes), hash("x"))},
		"a job that was refused is delivered": {"I3", changed(ofJob(history.OpEnqueue, completes), outcome(history.Fail))},
		"a job that was refused has an effect": {"I3", func(l tape) tape {
			return append(l, enqueue(1, "no", in("sums"), outcome(history.Fail)), line(history.OpEffect, 1, "no", in("sums")))
		}},
		"an attempt was given twice":  {"I4", twice(t, ofJob(history.OpAttempt, completes), token("x"))},
		"two attempts have one token": {"I4", changed(nth(history.OpAttempt, fails, 1), token(second.Token))},
		"an attempt ends twice":       {"I4", twice(t, nth(history.OpEnd, fails, 1), same)},
		"a stale attempt may say that it failed": {
			"I4", changed(nth(history.OpEnd, fails, 1), last),
		},
		"a stale attempt may complete": {"I5", twice(t, nth(history.OpEnd, fails, 2), numbered(1))},
		"a record names another token": {"I5", changed(ofJob(history.OpJob, completes), token("x"))},
		"an attempt has another token": {"I5", changed(ofJob(history.OpAttempt, completes), token("x"))},
		"a job that ended waits":       {"I5", changed(ofJob(history.OpJob, completes), code("ready"))},
		"a dead job stands completed":  {"I5", changed(ofJob(history.OpJob, dies), code("completed"))},
		"a job that ended is delivered": {
			"I5", twice(t, ofJob(history.OpAttempt, completes), func(e *history.Event) { e.Number, e.Token = 2, "x" }),
		},
		"an effect is there twice": {"I6", twice(t, ofJob(history.OpEffect, completes), same)},
		"a receipt is missing":     {"I6", without(ofJob(history.OpReceipt, completes))},
		"an effect is missing":     {"I6", without(ofJob(history.OpEffect, completes))},
		"an effect is missing with its receipt": {"I6", without(func(e history.Event) bool {
			return e.Job == completes && (e.Op == history.OpEffect || e.Op == history.OpReceipt)
		})},
		"all effects are missing":           {"I6", without(func(e history.Event) bool { return e.Op == history.OpEffect || e.Op == history.OpReceipt })},
		"an effect has the token of nobody": {"I6", changed(ofJob(history.OpEffect, completes), token("x"))},
		"an effect is of nobody's attempt": {"I6", changed(func(e history.Event) bool {
			return e.Job == completes && (e.Op == history.OpEffect || e.Op == history.OpReceipt)
		}, func(e *history.Event) { e.Job = "x" })},
		"a job was accepted twice":              {"I7", twice(t, func(e history.Event) bool { return e.Job == completes && e.Code == "accepted" }, begun(0))},
		"a duplicate was of another payload":    {"I7", changed(func(e history.Event) bool { return e.Job == completes && e.Code == "duplicate" }, fingerprint("x"))},
		"more are live than may be":             {"I8", func(l tape) tape { return append(l, line(history.OpSample, 1, "", in("sums"), room(11, 10))) }},
		"a job less is counted as completed":    {"I9", changed(sums(history.OpQueue), counter("completed", -1))},
		"a job more is counted as ready":        {"I9", changed(sums(history.OpQueue), counter("ready", 1))},
		"deliveries are counted short":          {"I9", changed(sums(history.OpQueue), counter("deliveries", -1))},
		"the attempt that completed is missing": {"I9", without(ofJob(history.OpAttempt, completes))},
		"an attempt was never counted":          {"I9", changed(ofJob(history.OpJob, fails), numbered(1))},
		"a job was claimed before it was due":   {"I10", changed(nth(history.OpAttempt, fails, 2), func(e *history.Event) { e.ClaimedMS = e.DueMS - 1 })},
		"a delay was not waited for":            {"I10", changed(ofJob(history.OpEnqueue, completes), delayed(60_000))},
		"a row that was rolled back is a job": {"I12", changed(ofJob(history.OpEnqueue, completes), func(e *history.Event) {
			e.Op, e.Outcome = history.OpRow, history.Fail
		})},
		"a row that was committed is none": {"I12", func(l tape) tape { return append(l, line(history.OpRow, 1, "x", in("sums"))) }},
		"a subscription never got an event": {"I13", without(func(e history.Event) bool {
			return e.Queue == "orders/bills" && (e.Job == event || e.Event == event)
		})},
		"a wait told another end":     {"I14", changed(ofJob(history.OpWait, completes), code("dead"))},
		"a wait told what is no end":  {"I14", changed(ofJob(history.OpWait, completes), code("active"))},
		"a wait came back long after": {"I14", changed(ofJob(history.OpWait, completes), func(e *history.Event) { e.Done += 61_000 * milli })},
		"the audit finds something": {"I16", func(l tape) tape {
			return append(l, line(history.OpFinding, 1, completes, in("sums"), code("unindexed")))
		}},
		"a key is left behind the purge": {"I16", func(l tape) tape { return append(l, line(history.OpKeys, 1, "", keys(8, 7))) }},
	}
}
