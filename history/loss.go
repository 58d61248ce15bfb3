package history

import (
	"math"
	"time"
)

const ms = int64(time.Millisecond)

// lateStart is how long after the death of a server a handler may begin whose claim that server answered.
const lateStart = 10 * int64(time.Second)

// loss is what a run allows a server to forget when it dies.
type loss struct {
	allowed bool
	ns      int64 // how long before its death what it answered may be forgotten
	deaths  []death
}

type death struct{ from, to int64 }

// allow takes what the run says of its durability. Without a word nothing may be forgotten.
func (l *loss) allow(grade string, lossMS int64) {
	switch grade {
	case "", "always":
		return
	case "none":
		l.ns = math.MaxInt64
	default:
		l.ns = max(l.ns, lossMS*ms)
	}
	l.allowed = true
}

func (l *loss) killed(f *fact) {
	if l.allowed {
		l.deaths = append(l.deaths, death{f.made(), f.done})
	}
}

// forgets tells whether what a line says may have been forgotten.
func (l *loss) forgets(f *fact) bool {
	made := f.made()
	if f.op == OpAttempt {
		made -= lateStart
	}
	for _, d := range l.deaths {
		if made <= d.to && (l.ns == math.MaxInt64 || f.done >= d.from-l.ns) {
			return true
		}
	}
	return false
}

// after tells whether a server died, and might forget, after a line.
func (l *loss) after(f *fact) bool {
	for _, d := range l.deaths {
		if d.to >= f.made() {
			return true
		}
	}
	return false
}

// count is how many of the lines may have been forgotten.
func (l *loss) count(facts []*fact) int {
	n := 0
	for _, f := range facts {
		if l.forgets(f) {
			n++
		}
	}
	return n
}
