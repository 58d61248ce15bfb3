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
	attempted := h.attempted()
	for _, k := range slices.SortedFunc(maps.Keys(h.effects), compareKeys) {
		w := h.effects[k]
		f.Looked++
		w.look(f)
		if h.ledgers[k.queue] {
			w.byAnAttempt(attempted, f)
		}
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

// attempted are the tokens of the attempts of a queue's jobs, also by their events.
func (h *run) attempted() map[key]map[uint64]bool {
	out := map[key]map[uint64]bool{}
	for _, j := range h.jobs {
		if !h.ledgers[j.queue] {
			continue
		}
		for _, a := range j.all(OpAttempt, nil) {
			for _, id := range []string{j.id, cmp.Or(a.event, j.id)} {
				k := key{j.queue, id}
				if out[k] == nil {
					out[k] = map[uint64]bool{}
				}
				out[k][a.token] = true
			}
		}
	}
	return out
}

// byAnAttempt finds effects that no attempt has made.
func (w *effect) byAnAttempt(attempted map[key]map[uint64]bool, f finder) {
	id, _, _ := strings.Cut(w.id, " ")
	tokens := attempted[key{w.queue, id}]
	for _, row := range w.rows {
		switch {
		case tokens == nil:
			f.found(Violation{Queue: w.queue, Job: w.id, Text: "its effect is there, and no attempt of it was made"}, row)
		case row.token != 0 && !tokens[row.token] && !tokens[0]:
			f.found(Violation{Queue: w.queue, Job: w.id, Text: "its effect was made with a token of no attempt"}, row)
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
