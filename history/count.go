package history

import "strings"

// count is the account of a history, without what the checks find.
func (h *run) count() Report {
	r := Report{Lines: h.lines, Seeds: h.seeds, Faults: map[string]int64{}, Invariants: []Invariant{}}
	if r.Seeds == nil {
		r.Seeds = []uint64{}
	}
	for _, j := range h.jobs {
		h.countJob(j, &r)
	}
	for _, w := range h.effects {
		rows := int64(len(w.rows))
		r.Effects += rows
		r.Receipts += int64(len(w.receipts))
		r.Doubled += max(0, rows-1)
	}
	for _, l := range h.others[OpFault] {
		if l.Outcome != OK {
			r.Unfired++
			continue
		}
		r.Faults[l.Code]++
		if strings.Contains(l.Code, "killed") {
			r.Kills++
		}
	}
	return r
}

// countJob adds a job to the account. A delivery of an event is one of its subscription's job.
func (h *run) countJob(j *job, r *Report) {
	sent := append(j.all(OpEnqueue, nil), j.all(OpRow, nil)...)
	attempts := int64(len(j.all(OpAttempt, nil)))
	r.Deliveries += attempts
	r.Redelivered += max(0, attempts-1)
	if len(sent) == 0 && attempts == 0 && !j.has(OpJob, nil) {
		return
	}
	r.Jobs++
	accepted, maybe := false, false
	for _, s := range sent {
		accepted = accepted || ok(s)
		maybe = maybe || s.outcome == Unknown
	}
	switch {
	case accepted:
		r.Accepted++
	case maybe:
		r.Unknown++
		if attempts > 0 || j.has(OpJob, nil) {
			r.Recovered++
		}
	case len(sent) > 0:
		r.Rejected++
	}
}
