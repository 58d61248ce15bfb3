package history

import "fmt"

// tidy is I16. An audit that found nothing leaves no line: the queues of the account were audited.
func tidy(h *run, f finder) {
	f.Looked += int64(len(h.others[OpQueue]))
	for i := range h.others[OpFinding] {
		l := &h.others[OpFinding][i]
		f.found(Violation{Queue: l.Queue, Job: l.Job, Text: "the audit found: " + l.Code}, l.fact())
	}
	for i := range h.others[OpKeys] {
		l := &h.others[OpKeys][i]
		f.Looked++
		if l.Keys > l.Base {
			text := fmt.Sprintf("%d keys are left after the purge, there were %d before", l.Keys, l.Base)
			f.found(Violation{Text: text}, l.fact())
		}
	}
}
