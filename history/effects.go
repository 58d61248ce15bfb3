package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// oneEffect is I6.
func oneEffect(h *run, f finder) {
	applied := map[key]bool{} // jobs with an effect
	for _, k := range slices.SortedFunc(maps.Keys(h.effects), compareKeys) {
		w := h.effects[k]
		f.Looked++
		w.look(f)
		id, _, _ := strings.Cut(k.id, " ") // behind a space stands the step
		applied[key{k.queue, id}] = applied[key{k.queue, id}] || len(w.rows) > 0
	}
	for _, j := range h.jobs {
		if !h.scopes[j.queue] {
			continue
		}
		f.Looked++
		if end := j.completed(); end != nil && !applied[j.key] && !applied[key{j.queue, end.event}] {
			f.found(j.violation("it completed without its effect"), j.newest(mostLines)...)
		}
	}
}

// look compares the rows of a key with its receipts.
func (w *effect) look(f finder) {
	v := Violation{Queue: w.queue, Job: w.id}
	rows, receipts := len(w.rows), len(w.receipts)
	switch {
	case rows > 1:
		v.Text = fmt.Sprintf("its effect is there %d times", rows)
	case receipts > 1:
		v.Text = fmt.Sprintf("its receipt is there %d times", receipts)
	case rows > receipts:
		v.Text = "its effect is there without a receipt"
	case receipts > rows:
		v.Text = "its receipt is there without the effect"
	default:
		return
	}
	f.found(v, append(slices.Clone(w.rows), w.receipts...)...)
}

// completed is a line that tells that the job completed, with the event it was of; nil where none does.
func (j *job) completed() *fact {
	is := func(f *fact) bool { return f.code == "completed" && f.outcome != Fail }
	end := cmp.Or(j.first(OpEnd, is), j.first(OpJob, is))
	if end == nil {
		return nil
	}
	out := *end
	if a := j.first(OpAttempt, func(f *fact) bool { return f.event != "" }); a != nil {
		out.event = a.event
	}
	return &out
}

func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.queue, b.queue), cmp.Compare(a.id, b.id))
}
