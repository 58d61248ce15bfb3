package history

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
)

// fact is a line of a job, as much of it as the checks need.
type fact struct {
	line                 int64
	op                   Op
	outcome              Outcome
	process, code, event string
	hash, token          uint64 // sums; 0 = none
	fingerprint          uint64 // likewise; that of hash where there is none of its own
	begun, done          int64
	claimed, due         int64 // ms
	delay, late          int64 // ms
	number               int32
	failures, crashes    int32
	snoozes, requeues    int32
	onlyWindow           bool
}

// made is when the call was made, or the moment where it took no time.
func (f *fact) made() int64 {
	if f.begun > 0 {
		return f.begun
	}
	return f.done
}

// String is the line in short, for people.
func (f *fact) String() string {
	var b strings.Builder
	b.WriteString(string(f.op))
	add := func(format string, v any, is bool) {
		if is {
			fmt.Fprintf(&b, " "+format, v)
		}
	}
	add("%s", f.outcome, f.outcome != "")
	add("%s", f.code, f.code != "")
	add("number %d", f.number, f.number > 0)
	add("event %s", f.event, f.event != "")
	add("claimed at %d ms", f.claimed, f.claimed > 0)
	add("due at %d ms", f.due, f.due > 0)
	add("delayed %d ms", f.delay, f.delay > 0)
	add("late %d ms", f.late, f.late > 0)
	add("begun %d", f.begun, f.begun > 0)
	add("done %d", f.done, f.done > 0)
	add("by %s", f.process, f.process != "")
	return b.String()
}

// key names a job, or a receipt.
type key struct{ queue, id string }

// job is all that the history tells of one job.
type job struct {
	key
	facts []fact
}

// all gives the lines of an op for which a condition holds; nil = all.
func (j *job) all(op Op, is func(*fact) bool) (out []*fact) {
	for i := range j.facts {
		if f := &j.facts[i]; f.op == op && (is == nil || is(f)) {
			out = append(out, f)
		}
	}
	return out
}

// first is the first line of an op for which a condition holds, nil where there is none.
func (j *job) first(op Op, is func(*fact) bool) *fact {
	for i := range j.facts {
		if f := &j.facts[i]; f.op == op && (is == nil || is(f)) {
			return f
		}
	}
	return nil
}

func (j *job) has(op Op, is func(*fact) bool) bool { return j.first(op, is) != nil }

// pair takes away the lines of enqueues that were asked for whose answers are there too.
func (j *job) pair() {
	type call struct {
		process string
		begun   int64
	}
	if !j.has(OpEnqueue, func(f *fact) bool { return f.code == asked }) {
		return
	}
	answered := map[call]bool{}
	for i := range j.facts {
		if f := &j.facts[i]; f.op == OpEnqueue && f.code != asked && f.begun > 0 {
			answered[call{f.process, f.begun}] = true
		}
	}
	j.facts = slices.DeleteFunc(j.facts, func(f fact) bool {
		return f.op == OpEnqueue && f.code == asked && answered[call{f.process, f.begun}]
	})
}

// violation is one of this job.
func (j *job) violation(format string, args ...any) Violation {
	return Violation{Queue: j.queue, Job: j.id, Text: fmt.Sprintf(format, args...)}
}

// Conditions.
func ok(f *fact) bool        { return f.outcome == OK }
func notFailed(f *fact) bool { return f.outcome != Fail }
func accepts(f *fact) bool   { return f.outcome == OK && f.code != "duplicate" }
func ends(f *fact) bool      { return f.outcome == OK && terminal(f.code) }

// terminal tells whether a word is a state in which a job has ended.
func terminal(word string) bool {
	return word == "completed" || word == "dead" || word == "cancelled"
}

// sums turns words into numbers that are the same where the words are.
type sums struct{ seed maphash.Seed }

func (s sums) of(word string) uint64 {
	if word == "" {
		return 0
	}
	return max(maphash.String(s.seed, word), 1)
}
