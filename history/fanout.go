package history

import "strings"

// eachSubscription is I13. Subscriptions are to be drained before the account is written.
func eachSubscription(h *run, f finder) {
	got := map[key]bool{} // subscription and event
	for _, j := range h.jobs {
		if !strings.Contains(j.queue, "/") {
			continue
		}
		got[j.key] = got[j.key] || j.has(OpJob, nil) || j.has(OpDelete, notFailed)
		for _, a := range j.all(OpAttempt, nil) {
			got[key{j.queue, a.event}] = true
		}
	}
	subscriptions := map[string][]string{}
	for _, s := range h.others[OpSubscription] {
		topic, _, _ := strings.Cut(s.Queue, "/")
		subscriptions[eventPrefix+topic] = append(subscriptions[eventPrefix+topic], s.Queue)
	}
	for _, j := range h.jobs {
		for _, s := range subscriptions[j.queue] {
			h.eventArrived(j, s, got[key{s, j.id}], f)
		}
	}
}

// eventArrived looks whether a subscription got an event that was accepted.
func (h *run) eventArrived(event *job, subscription string, got bool, f finder) {
	told := event.all(OpEnqueue, ok)
	row := event.first(OpRow, ok)
	if len(told) == 0 && row == nil {
		return
	}
	f.Looked++
	if got || len(told) > 0 && h.loss.count(told) == len(told) || len(told) == 0 && h.loss.after(row) {
		return
	}
	f.found(event.violation("the subscription %s never got it", subscription), event.newest(mostLines)...)
}
