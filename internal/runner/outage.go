package runner

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// outage knows whether Redis is away for a worker, and tells it once a change: not once a queue or call. It is away
// while some call of some line fails, until the same call of that line is answered.
type outage struct {
	log    *slog.Logger
	notify func(Event)

	mu    sync.Mutex
	lines int // with a call that fails
	since time.Time
	back  chan struct{} // closed and made anew when a call that failed is answered
}

// line is the calls of one queue, or those of the ears.
type line struct {
	o       *outage
	queue   string
	failing atomic.Bool // fast: whether calls holds anything
	calls   map[string]int
}

func newOutage(log *slog.Logger) *outage {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &outage{log: log, back: make(chan struct{})}
}

func (o *outage) line(queue string) *line {
	return &line{o: o, queue: queue, calls: map[string]int{}}
}

// told notes what became of a call.
func (l *line) told(call string, err error) {
	switch {
	case err != nil:
		l.failed(call, err)
	case l.failing.Load():
		l.answered(call)
	}
}

func (l *line) failed(call string, err error) {
	o := l.o
	o.mu.Lock()
	l.calls[call]++
	tries, first := l.calls[call], false
	if len(l.calls) == 1 && tries == 1 {
		l.failing.Store(true)
		o.lines++
		if first = o.lines == 1; first {
			o.since = time.Now()
		}
	}
	o.mu.Unlock()
	attrs := []any{slog.String(keyCall, call), slog.Int(keyTries, tries), errorAttr(err)}
	if l.queue != "" {
		attrs = append(attrs, slog.String(keyQueue, l.queue))
	}
	if !first {
		o.log.Debug("redis call failed", attrs...)
		return
	}
	o.log.Warn("redis unavailable", attrs...)
	o.tell(Event{Type: RedisDown, Queue: l.queue, Err: err})
}

func (l *line) answered(call string) {
	o := l.o
	o.mu.Lock()
	if l.calls[call] == 0 {
		o.mu.Unlock()
		return
	}
	delete(l.calls, call)
	close(o.back)
	o.back = make(chan struct{})
	away, last := time.Since(o.since), l.quiet()
	o.mu.Unlock()
	if last {
		o.up(away)
	}
}

func (o *outage) up(away time.Duration) {
	o.log.Info("redis available again", slog.Duration(keyAway, away))
	o.tell(Event{Type: RedisUp, Took: away})
}

// quiet notes that no call fails any more; true where it was the last line. The caller holds the lock.
func (l *line) quiet() bool {
	if len(l.calls) > 0 || !l.failing.Load() {
		return false
	}
	l.failing.Store(false)
	l.o.lines--
	return l.o.lines == 0
}

// end forgets the line. Where others go on, whose calls are answered, that is told.
func (l *line) end(goesOn bool) {
	o := l.o
	o.mu.Lock()
	clear(l.calls)
	away, last := time.Since(o.since), l.quiet()
	o.mu.Unlock()
	if last && goesOn {
		o.up(away)
	}
}

// fails tells whether the last try of a call failed.
func (l *line) fails(call string) bool {
	if !l.failing.Load() {
		return false
	}
	l.o.mu.Lock()
	defer l.o.mu.Unlock()
	return l.calls[call] > 0
}

// news is closed when a call that failed is answered: who waits to try again may do so now.
func (o *outage) news() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.back
}

func (o *outage) tell(e Event) {
	if o.notify != nil {
		o.notify(e)
	}
}
