package stage

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/test/internal/program"
)

// Process is a running actor behind a proxy of its own.
type Process struct {
	*program.Process[Said]

	Orders Orders
	Proxy  *redistest.Proxy
	gate   *gate
}

// Lease is that of processes whose orders name none: short, since cells wait for it, and long beside the stalls of a busy
// machine.
const Lease = 600 * time.Millisecond

// Spawn starts a process. What its orders leave open is filled in. A point on its wire is armed with it.
func (s *Stage) Spawn(o Orders) *Process {
	s.Helper()
	s.made++
	o.Name = cmp.Or(o.Name, fmt.Sprintf("%s-%d", o.Role, s.made))
	o.Lease, o.Jobs, o.Retention = cmp.Or(o.Lease, Lease), cmp.Or(o.Jobs, 1), cmp.Or(o.Retention, window)
	o.Digests, o.History = s.digests, s.path
	if (o.Role == Work || o.Role == Subscribe) && !o.Bare {
		s.worked[o.Queue] = true
	}
	if s.Database != nil && !o.Bare {
		o.Driver, o.DSN, o.Dialect = s.Database.Driver, s.Database.DSN, string(s.Database.Dialect)
	}
	proxy := redistest.NewProxy(s, s.Server)
	proxy.Verbs(s.digests)
	o.Redis = proxy.URL()
	p := &Process{Orders: o, Proxy: proxy, gate: &gate{skip: o.Skip, reached: make(chan struct{}), open: make(chan struct{})}}
	if verb, step := o.Stop.call(); step == OnTheWay || step == Answered {
		p.gate.verb, p.gate.when = verb, redistest.Written
		if step == Answered {
			p.gate.when = redistest.Executed
			proxy.Decide(p.gate.copies)
		}
		proxy.Hold(p.gate.hold)
	}
	var err error
	p.Process, err = program.Start[Said](s, s.Actor, o)
	s.Must(err)
	return p
}

// call is the verb and step that a point is of; "" where it is none of a call.
func (p Point) call() (verb string, step Step) {
	for _, step := range []Step{Sends, OnTheWay, Answered, Read} {
		if n := len(p) - len(step) - 1; n > 0 && Step(p[n+1:]) == step {
			return string(p[:n]), step
		}
	}
	return "", ""
}

// OnWire tells whether the proxy stops it there.
func (p Point) OnWire() bool {
	_, step := p.call()
	return step == OnTheWay || step == Answered
}

// gate holds one frame of a process at its proxy.
type gate struct {
	verb    string
	when    redistest.When
	reached chan struct{} // closed when the frame is there
	open    chan struct{} // closed to let it go

	mu         sync.Mutex
	skip       int
	done, gone bool
}

func (g *gate) hold(r redistest.Request, when redistest.When) <-chan struct{} {
	if r.Verb != g.verb || when != g.when {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.skip--; g.done || g.skip >= 0 {
		return nil
	}
	g.done = true
	close(g.reached)
	return g.open
}

// copies keeps a copy of the frame whose answer will be held, for it may be delivered once more.
func (g *gate) copies(r redistest.Request) redistest.Fate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.Verb == g.verb && !g.done && g.skip == 0 {
		return redistest.Again
	}
	return redistest.Pass
}

// Reached tells whether the process came to its point before d has passed.
func (p *Process) Reached(s *Stage, d time.Duration) bool {
	return s.Within(d, func() bool {
		if p.Orders.Stop.OnWire() {
			select {
			case <-p.gate.reached:
				return true
			default:
				return false
			}
		}
		for _, said := range p.Said() {
			if said.At == p.Orders.Stop {
				return true
			}
		}
		return false
	})
}

// Go lets it go on from its point.
func (p *Process) Go() {
	p.gate.mu.Lock()
	if !p.gate.gone {
		p.gate.gone = true
		close(p.gate.open)
	}
	p.gate.mu.Unlock()
	p.Tell(Go)
}

// HasEnded tells whether it has sent all that it had to send.
func (p *Process) HasEnded() bool {
	for _, said := range p.Said() {
		if said.Ended {
			return true
		}
	}
	return false
}
