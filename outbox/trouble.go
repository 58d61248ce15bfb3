package outbox

import (
	"log/slog"
	"time"
)

const (
	calmTime     = 10 * time.Second // longer than the longest pause after a failure
	complainTime = time.Minute      // how often a failure that goes on is a warning
)

// trouble is a queue, or the database, with which rounds fail.
type trouble struct{ last, told time.Time }

// failed notes that a round failed, with the whole database where queue is "". The log has it once a minute, else at debug.
func (r *relay) failed(queue string, err error) {
	if r.complains(queue) {
		r.o.o.Log.Warn("outbox: a round of the relay failed and is tried again", slog.String(keyQueue, queue),
			slog.String(keyError, err.Error()))
	} else {
		r.o.o.Log.Debug("outbox: a round of the relay failed again", slog.String(keyQueue, queue), slog.String(keyError, err.Error()))
	}
	r.o.tell(Event{Type: EventFailed, Queue: queue, Err: err})
}

// complains notes a failure, and tells whether it is to be a warning.
func (r *relay) complains(queue string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.troubles[queue]
	t.last = time.Now()
	warn := t.last.Sub(t.told) >= complainTime
	if warn {
		t.told = t.last
	}
	r.troubles[queue] = t
	return warn
}

// recovered tells of troubles that are over. The database answers.
func (r *relay) recovered() {
	r.mu.Lock()
	var over []string
	for queue, t := range r.troubles {
		if l := r.lanes[queue]; l != nil && l.isLost() {
			continue // nothing is sent there, so nothing can fail
		}
		if time.Since(t.last) > calmTime {
			over = append(over, queue)
			delete(r.troubles, queue)
		}
	}
	r.mu.Unlock()
	for _, queue := range over {
		r.o.o.Log.Info("outbox: the relay has recovered", slog.String(keyQueue, queue))
		r.o.tell(Event{Type: EventRecovered, Queue: queue})
	}
}
