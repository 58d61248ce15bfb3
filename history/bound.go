package history

import "fmt"

// bounded is I8. A capacity that was lowered while more jobs were live is told as a violation: leave it alone during a run.
func bounded(h *run, f finder) {
	for i := range h.others[OpSample] {
		s := &h.others[OpSample][i]
		if s.Capacity <= 0 {
			continue
		}
		f.Looked++
		if s.Live > s.Capacity {
			f.found(Violation{Queue: s.Queue, Text: fmt.Sprintf("%d jobs are live, of %d", s.Live, s.Capacity)}, s.fact())
		}
	}
	for i := range h.others[OpQueue] {
		q := &h.others[OpQueue][i]
		capacity, high := q.stat("capacity"), q.stat("high")
		if capacity <= 0 {
			continue
		}
		f.Looked++
		if high > capacity {
			f.found(Violation{Queue: q.Queue, Text: fmt.Sprintf("%d jobs were live at once, of %d", high, capacity)}, q.fact())
		}
	}
}

// stat is one of a queue's counters; 0 where it is null, or not there.
func (l *line) stat(name string) int64 {
	n, _ := l.Stats[name].(float64)
	return int64(n)
}

// sum adds counters.
func (l *line) sum(names ...string) (n int64) {
	for _, name := range names {
		n += l.stat(name)
	}
	return n
}
