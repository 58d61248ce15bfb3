package store

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Channel is what a queue's scripts publish on.
type Channel string

// Channels.
const (
	EndedChannel   Channel = "ended"   // "id outcome" a line: completed, cancelled, dead or deleted
	ControlChannel Channel = "control" // "cancel id", "parked", "resumed", "worker id"
)

// How the connection of notices is kept: after so long without a word it is asked for one, and given up after as
// long again; a new one is tried after a pause that doubles, with jitter.
const (
	noticeSilence = 3 * time.Second
	leastRejoin   = 50 * time.Millisecond
	mostRejoin    = 2 * time.Second
)

// Notices is one connection over which a process hears what scripts publish, of all its queues. Speed rests on it
// and nothing else: what is published while it is away is lost, and who follows is told when it is back.
// It is opened with the first channel and closed with the last. Safe for concurrent use.
type Notices struct {
	rdb redis.UniversalClient

	mu     sync.Mutex
	hears  map[string][]*follower // by channel
	ps     *redis.PubSub          // nil while there is no connection
	end    context.CancelFunc     // nil while nothing runs
	ended  chan struct{}
	closed bool
}

type follower struct{ hear func(line string) }

func newNotices(rdb redis.UniversalClient) *Notices {
	return &Notices{rdb: rdb, hears: map[string][]*follower{}}
}

// Follow calls hear with each line that is published on a channel of the queue, and with "" each time the channel
// was joined: what came before may have been missed. hear must be quick and safe for concurrent use.
// stop ends it; a call under way may still come.
func (q *Queue) Follow(c Channel, hear func(line string)) (stop func()) {
	return q.store.notices.follow(q.tag+string(c), hear)
}

func (n *Notices) follow(channel string, hear func(line string)) (stop func()) {
	f := &follower{hear}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return func() {}
	}
	first := len(n.hears[channel]) == 0
	n.hears[channel] = append(n.hears[channel], f)
	switch {
	case n.end == nil:
		n.begin()
	case first && n.ps != nil:
		go n.join(n.ps, channel)
	case n.ps != nil:
		go hear("") // joined already, by another
	}
	return func() { n.unfollow(channel, f) }
}

// begin starts the one goroutine; the lock is held. It ends with the last follower.
func (n *Notices) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	n.end, n.ended = cancel, make(chan struct{})
	go n.run(ctx, n.ended)
}

func (n *Notices) unfollow(channel string, f *follower) {
	n.mu.Lock()
	defer n.mu.Unlock()
	left := slices.DeleteFunc(n.hears[channel], func(g *follower) bool { return g == f })
	n.hears[channel] = left
	if len(left) > 0 {
		return
	}
	delete(n.hears, channel)
	if len(n.hears) == 0 && n.end != nil {
		n.end()
		n.end = nil
	} else if n.ps != nil {
		go n.leave(n.ps, channel)
	}
}

// join and leave change what the connection hears. A failure is no matter: the connection is then broken, and
// the next one joins what is followed.
func (n *Notices) join(ps *redis.PubSub, channel string) {
	_ = ps.Subscribe(context.Background(), channel)
}

func (n *Notices) leave(ps *redis.PubSub, channel string) {
	_ = ps.Unsubscribe(context.Background(), channel)
	n.mu.Lock()
	again := len(n.hears[channel]) > 0 // followed anew meanwhile
	n.mu.Unlock()
	if again {
		n.join(ps, channel)
	}
}

// close ends the connection and waits for its goroutine.
func (n *Notices) close() {
	n.mu.Lock()
	n.closed = true
	ended := n.ended
	if n.end != nil {
		n.end()
		n.end = nil
	}
	n.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// run keeps a connection until ctx ends.
func (n *Notices) run(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	for pause := leastRejoin; ctx.Err() == nil; pause = min(2*pause, mostRejoin) {
		if n.connected(ctx) {
			pause = leastRejoin
		}
		wait(ctx, pause)
	}
}

// connected hears on one connection until it breaks; true where it was joined at all.
func (n *Notices) connected(ctx context.Context) (joined bool) {
	ps := n.rdb.Subscribe(ctx)
	defer context.AfterFunc(ctx, func() { _ = ps.Close() })()
	defer func() { _ = ps.Close() }()
	if n.use(ctx, ps) != nil {
		return false
	}
	defer func() {
		n.mu.Lock()
		if n.ps == ps {
			n.ps = nil
		}
		n.mu.Unlock()
	}()
	for asked := false; ctx.Err() == nil; {
		m, err := ps.ReceiveTimeout(ctx, noticeSilence)
		var timeout net.Error
		switch {
		case err == nil:
			asked, joined = false, true
			n.heard(m)
		case errors.As(err, &timeout) && timeout.Timeout() && !asked:
			asked = true
			if ps.Ping(ctx) != nil {
				return joined
			}
		default:
			return joined
		}
	}
	return joined
}

// use joins all that is followed, on a new connection.
func (n *Notices) use(ctx context.Context, ps *redis.PubSub) error {
	n.mu.Lock()
	n.ps = ps // what is followed from now on joins by itself
	channels := make([]string, 0, len(n.hears))
	for c := range n.hears {
		channels = append(channels, c)
	}
	n.mu.Unlock()
	return ps.Subscribe(ctx, channels...)
}

func (n *Notices) heard(m any) {
	switch m := m.(type) {
	case *redis.Subscription:
		if m.Kind == "subscribe" {
			n.tell(m.Channel, "")
		}
	case *redis.Message:
		for line := range strings.SplitSeq(m.Payload, "\n") {
			if line != "" {
				n.tell(m.Channel, line)
			}
		}
	}
}

func (n *Notices) tell(channel, line string) {
	n.mu.Lock()
	hears := slices.Clone(n.hears[channel])
	n.mu.Unlock()
	for _, f := range hears {
		f.hear(line)
	}
}
