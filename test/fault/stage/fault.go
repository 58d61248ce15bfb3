package stage

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/internal/redistest"
)

// Fault is what happens to a process at a point.
type Fault string

// Faults.
const (
	Killed         Fault = "killed"          // by SIGKILL
	Frozen         Fault = "frozen"          // by SIGSTOP, beyond its lease and until its work is somebody else's
	RequestLost    Fault = "request lost"    // its next call does not come to Redis
	ReplyLost      Fault = "reply lost"      // its next call is carried out, and not answered
	Late           Fault = "delivered late"  // its next call comes to Redis after the next attempt has begun, and it was frozen meanwhile
	RedisKilled    Fault = "redis killed"    // by SIGKILL, and started again
	ScriptsFlushed Fault = "scripts flushed" // Redis forgets the scripts
)

// Faults gives all.
func Faults() []Fault {
	return []Fault{Killed, Frozen, RequestLost, ReplyLost, Late, RedisKilled, ScriptsFlushed}
}

// turn is how long what a fault needs may take to come about. It is long because machines are busy.
const turn = time.Minute

// Play does a fault to a process that has come to its point, and lets it go on. moved tells whether its work is somebody else's
// by now: a freeze, or a late delivery, before which that did not happen is none. Play tells whether the fault came about, once
// that is known.
func (s *Stage) Play(p *Process, f Fault, moved func() bool) (fired func() bool) {
	s.Helper()
	yes := func() bool { return true }
	switch f {
	case Killed:
		p.Kill()
		p.Go()
	case Frozen:
		p.Signal(syscall.SIGSTOP)
		p.Go()
		came := s.Within(turn, moved)
		p.Signal(syscall.SIGCONT)
		return func() bool { return came }
	case RequestLost:
		return s.next(p, redistest.DropRequest)
	case ReplyLost:
		if _, step := p.Orders.Stop.call(); step != Answered {
			return s.next(p, redistest.DropReply)
		}
		cut := p.Proxy.Cut() // with the reply that is held
		p.Go()
		return func() bool { return cut > 0 }
	case Late:
		return s.late(p, moved)
	case RedisKilled:
		s.Server.Kill()
		p.Go()
		s.Restart()
	case ScriptsFlushed:
		before := s.Refused("NOSCRIPT")
		s.Must(s.direct.ScriptFlush(s.Context()).Err())
		p.Go()
		return func() bool { return s.Within(turn, func() bool { return s.Refused("NOSCRIPT") > before }) }
	}
	return yes
}

// next gives the next call of a process a fate, and tells whether there was one.
func (s *Stage) next(p *Process, fate redistest.Fate) (fired func() bool) {
	var taken atomic.Bool
	p.Proxy.Decide(func(r redistest.Request) redistest.Fate {
		if !s.isCall(r) || taken.Swap(true) {
			return redistest.Pass
		}
		return fate
	})
	p.Go()
	return func() bool { return s.Within(turn, func() bool { return p.Proxy.Faults()[fate] > 0 }) }
}

// isCall tells whether a request is a call of a script. Redis has a command subscribe too.
func (s *Stage) isCall(r redistest.Request) bool {
	return s.verbs[r.Verb] && strings.EqualFold(string(r.Args[0]), "evalsha")
}

// late keeps the next call of a process, freezes it until its work is somebody else's, and delivers the call then.
func (s *Stage) late(p *Process, moved func() bool) (fired func() bool) {
	if _, step := p.Orders.Stop.call(); step == Answered { // a copy is kept
		p.Signal(syscall.SIGSTOP)
		p.Go()
	} else {
		if !s.next(p, redistest.Late)() {
			return func() bool { return false }
		}
		p.Signal(syscall.SIGSTOP)
	}
	came := s.Within(turn, moved)
	ctx, stop := context.WithTimeout(s.Context(), 10*time.Second)
	defer stop()
	delivered, err := p.Proxy.Deliver(ctx)
	s.Must(err)
	p.Signal(syscall.SIGCONT)
	return func() bool { return came && len(delivered) > 0 }
}

// Tell writes a fault into the history.
func (s *Stage) Tell(at Point, f Fault, fired bool) {
	e := history.Event{Op: history.OpFault, Boundary: string(at), Code: string(f), Outcome: history.Fail}
	if fired {
		e.Outcome = history.OK
	}
	s.History.Write(e)
}

// Term tells a process to stop, as a supervisor does.
func (p *Process) Term() { p.Signal(os.Signal(syscall.SIGTERM)) }
