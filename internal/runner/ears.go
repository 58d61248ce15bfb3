package runner

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Times of a listen. It can't be given up, so a stop waits for it: hence the bound.
const (
	longListen  = time.Second
	shortListen = 100 * time.Millisecond
	ringTime    = 2 * time.Second // for ringing back
)

// Listener is what Ears need of a store.Store.
type Listener interface {
	// Listen waits for the bells of queues, at most d, takes the token of one and names it; "" where none rang.
	Listen(ctx context.Context, names []string, d time.Duration) (string, error)
}

// EarsOptions of Ears. All are required.
type EarsOptions struct {
	Listener Listener
	Calls    int // listens under way at a time: each holds a connection
	Names    int // queues in one listen
}

// Ears listen to the bells of all queues of a worker, an Ear each, in few calls: a call takes all queues that want to
// hear and that no other call listens for. Half of the calls are long ones, the others take what comes later. All of
// them end together, each second, and those that follow gather the queues anew: else each ring would leave the
// queues in more and smaller calls. It is safe for concurrent use.
type Ears struct {
	o      EarsOptions
	line   *line // tells whether Redis is away
	began  time.Time
	closed chan struct{}
	all    sync.WaitGroup

	mu    sync.Mutex
	under int           // listens under way
	ends  map[int64]int // the same by the second at whose end they end
	queue []*Ear        // want to hear and are not listened for, first come first
}

// listen is one call that listens.
type listen struct {
	ears   []*Ear
	second int64 // at whose end it ends, or before
	d      time.Duration
}

// Ear is that of one queue.
type Ear struct {
	ears  *Ears
	name  string
	ring  func(context.Context) error
	heard chan struct{}

	wants, queued, covered bool // guarded by Ears.mu
}

// NewEars makes ears. They listen from the first Want on until Close.
func NewEars(o EarsOptions) *Ears {
	return &Ears{o: o, began: time.Now(), closed: make(chan struct{}), ends: map[int64]int{}, line: newOutage(nil).line("")}
}

// Join adds the ear of a queue. ring gives back a token that it does not use.
func (e *Ears) Join(name string, ring func(context.Context) error) *Ear {
	return &Ear{ears: e, name: name, ring: ring, heard: make(chan struct{}, 1)}
}

// Close waits for the listens under way, about a second; none begins any more.
func (e *Ears) Close() {
	e.mu.Lock()
	if !e.isClosed() {
		close(e.closed)
	}
	e.queue = nil
	e.mu.Unlock()
	e.all.Wait()
}

// Want listens until the bell was heard once, or Hush.
func (e *Ear) Want(ctx context.Context) {
	e.ears.mu.Lock()
	defer e.ears.mu.Unlock()
	if e.wants || len(e.heard) > 0 {
		return
	}
	e.wants = true
	e.ears.enqueue(e)
	e.ears.start(ctx)
}

// Heard has something when the bell was heard.
func (e *Ear) Heard() <-chan struct{} { return e.heard }

// Hush says that the bell need not be heard now. A token that is taken all the same is rung back; true: the bell was
// heard, and its token is in the caller's hand.
func (e *Ear) Hush() bool {
	e.ears.mu.Lock()
	defer e.ears.mu.Unlock()
	e.wants = false
	select {
	case <-e.heard:
		return true
	default:
		return false
	}
}

func (e *Ears) enqueue(ear *Ear) {
	if !ear.queued && !ear.covered && !e.isClosed() {
		ear.queued = true
		e.queue = append(e.queue, ear)
	}
}

func (e *Ears) isClosed() bool {
	select {
	case <-e.closed:
		return true
	default:
		return false
	}
}

// start begins listens for what wants to hear, as long as there may be more.
func (e *Ears) start(ctx context.Context) {
	for e.under < e.o.Calls {
		ears := e.gather()
		if len(ears) == 0 {
			return
		}
		second, left := e.clock()
		l := listen{ears: ears, second: second, d: left}
		if e.under >= (e.o.Calls+1)/2 && len(ears) < e.o.Names {
			l.d = min(left, shortListen)
		}
		e.ends[second]++
		e.under++
		e.all.Go(func() { e.listen(context.WithoutCancel(ctx), l) })
	}
}

// clock is the second that goes on, and the time to its end.
func (e *Ears) clock() (second int64, left time.Duration) {
	since := time.Since(e.began)
	return int64(since / longListen), longListen - since%longListen + time.Millisecond
}

// gather takes the ears of one listen out of the queue.
func (e *Ears) gather() []*Ear {
	var out []*Ear
	for len(e.queue) > 0 && len(out) < e.o.Names {
		ear := e.queue[0]
		e.queue = e.queue[1:]
		ear.queued = false
		if ear.wants {
			ear.covered = true
			out = append(out, ear)
		}
	}
	return out
}

// listen makes one listen, and then lets the next begin.
func (e *Ears) listen(ctx context.Context, l listen) {
	names := make([]string, len(l.ears))
	for i, ear := range l.ears {
		names[i] = ear.name
	}
	rang, err := e.o.Listener.Listen(ctx, names, l.d)
	failed := false
	for err != nil && e.rest(err) { // timers claim meanwhile
		failed = true
		rang, err = e.o.Listener.Listen(ctx, names, shortListen)
	}
	if err == nil {
		e.line.told("listen", nil)
	}
	if back := e.heard(ctx, l, rang, failed); back != nil {
		back.ringBack(ctx)
	}
}

// heard ends a listen and begins what follows. It gives the ear whose token is of no use.
func (e *Ears) heard(ctx context.Context, l listen, rang string, failed bool) (back *Ear) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ears := l.ears
	if failed { // a ring may be lost with a call that failed, so all look
		ears, e.queue = append(ears, e.queue...), nil
	}
	for _, ear := range ears {
		ear.covered, ear.queued = false, false
		switch {
		case ear.wants && (failed || ear.name == rang):
			ear.wants = false
			ear.heard <- struct{}{}
		case ear.wants:
			e.enqueue(ear)
		case ear.name == rang:
			back = ear
		}
	}
	e.under--
	e.ends[l.second]--
	others := e.ends[l.second]
	if others == 0 {
		delete(e.ends, l.second)
	}
	if second, _ := e.clock(); rang != "" || failed || others == 0 || second == l.second {
		e.start(ctx)
	}
	return back
}

// rest waits after a listen that failed; false where there is to be no more.
func (e *Ears) rest(err error) bool {
	e.line.told("listen", err)
	t := time.NewTimer(longListen)
	defer t.Stop()
	select {
	case <-e.closed:
		return false
	case <-e.line.o.news():
	case <-t.C:
	}
	return true
}

// ringBack gives back a token. Where that fails the next look of some worker finds the work.
func (e *Ear) ringBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ringTime)
	defer cancel()
	if err := e.ring(ctx); err != nil {
		e.ears.line.o.log.Debug("ring back", slog.String(keyQueue, e.name), errorAttr(err))
	}
}
