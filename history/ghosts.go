package history

import "strings"

// sent is what the job was made from: lines of its enqueues and rows, and those of the event in a subscription.
func (h *run) sent(j *job) (out []*fact) {
	for _, j := range append([]*job{j}, h.eventsOf(j)...) {
		out = append(out, j.all(OpEnqueue, nil)...)
		out = append(out, j.all(OpRow, nil)...)
	}
	return out
}

// eventsOf are the events that a job of a subscription may be of: the one that its attempts name, or else the one of its ID.
func (h *run) eventsOf(j *job) []*job {
	topic, _, in := strings.Cut(j.queue, "/")
	if !in {
		return nil
	}
	id := j.id
	if a := j.first(OpAttempt, func(f *fact) bool { return f.event != "" }); a != nil {
		id = a.event
	}
	if e := h.byKey[key{eventPrefix + topic, id}]; e != nil {
		return []*job{e}
	}
	return nil
}

// noGhost is I2. What stands in the account without a line of its making is a ghost too.
func noGhost(h *run, j *job, f finder) {
	attempts, stands := j.all(OpAttempt, nil), j.all(OpJob, nil)
	if len(attempts)+len(stands) == 0 {
		return
	}
	f.Looked++
	sent := h.sent(j)
	if len(sent) == 0 {
		h.unexpected++
		f.found(j.violation("nobody enqueued it"), append(attempts, stands...)...)
		return
	}
	hashes := map[uint64]bool{}
	for _, s := range sent {
		if notFailed(s) {
			hashes[s.hash] = true
		}
	}
	if len(hashes) == 0 || hashes[0] { // refused, which is I3; or what was sent is not known
		return
	}
	for _, a := range attempts {
		if a.hash != 0 && !hashes[a.hash] {
			f.found(j.violation("what is delivered is not what was sent"), append(sent, a)...)
			return
		}
	}
}
