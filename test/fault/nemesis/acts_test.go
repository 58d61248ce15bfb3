package nemesis_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/test/fault/extent"
	"github.com/waybillhq/waybill/test/fault/stage"
)

// act is one thing that goes wrong. It tells whether it came about.
type act struct {
	name   stage.Fault
	weight int
	do     func(*nemesis) bool
	shows  string // the sort of errors that clients get by it, without which it did nothing; "" = it shows otherwise
}

// Faults that write their own lines, since what is allowed goes by when they happened.
const (
	jumped stage.Fault = "clock jumped"
	died   stage.Fault = "redis killed"
)

var acts = []act{
	{name: "killed", weight: 6, do: (*nemesis).kill},
	{name: "frozen", weight: 4, do: (*nemesis).freeze},
	{name: "told to stop", weight: 3, do: (*nemesis).term},
	{name: "connections cut", weight: 3, do: func(n *nemesis) bool { return n.proxy().Cut() > 0 }},
	{name: "connections silent", weight: 2, do: func(n *nemesis) bool { return n.proxy().Silence() > 0 }},
	{name: "pub/sub cut", weight: 2, do: (*nemesis).cutPubSub},
	{name: "writes paused", weight: 1, do: func(n *nemesis) bool { return n.command("CLIENT", "PAUSE", "300", "WRITE") }},
	{name: "scripts flushed", weight: 2, do: func(n *nemesis) bool { return n.command("SCRIPT", "FLUSH") }, shows: "NOSCRIPT"},
	{name: died, weight: 3, do: (*nemesis).killRedis},
	{name: "redis frozen", weight: 2, do: (*nemesis).freezeRedis},
	{name: "out of memory", weight: 2, do: func(n *nemesis) bool { return n.setting("maxmemory", "1", "0") }, shows: "OOM"},
	{name: "read-only", weight: 2, do: (*nemesis).demote, shows: "READONLY"},
	{name: "password", weight: 2, do: func(n *nemesis) bool { return n.rotate() }, shows: "NOAUTH"},
	{name: "slow script", weight: 2, do: (*nemesis).slow, shows: "BUSY"},
	{name: jumped, weight: 3, do: (*nemesis).jump},
	{name: "disk full", weight: 1, do: (*nemesis).fill},
}

// fates are what may become of single requests.
var fates = []redistest.Fate{
	redistest.DropRequest, redistest.DropReply, redistest.CutRequest, redistest.CutReply, redistest.HalfOpen, redistest.Reset, redistest.Late,
	redistest.Again,
}

// disturb lets things go wrong at random, and the network beside.
func (n *nemesis) disturb(lasts time.Duration) {
	n.Helper()
	var all []act
	for _, a := range acts {
		all = append(all, slices.Repeat([]act{a}, a.weight)...)
	}
	for began := time.Now(); time.Since(began) < lasts; {
		n.network()
		n.pause(time.Duration(50+n.rnd.IntN(250)) * time.Millisecond)
		n.revive()
		a := all[n.rnd.IntN(len(all))]
		n.refuse()
		flying := n.working()
		if done := a.on(n); a.name != jumped && a.name != died {
			n.Tell("at random", a.name, done && flying)
		}
	}
}

// shown is how long errors may take to show.
const shown = 2 * time.Second

// on lets it happen, and tells whether it came about.
func (a act) on(n *nemesis) bool {
	if a.shows == "" {
		return a.do(n)
	}
	before := n.Refused(a.shows)
	return a.do(n) && n.Within(shown, func() bool { return n.Refused(a.shows) > before })
}

// cutPubSub ends the connections that listen.
func (n *nemesis) cutPubSub() bool {
	cut, err := n.Direct().Do(n.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Int64()
	return err == nil && cut > 0
}

// network gives some of the next requests of a member a random fate, until it is called again, and delivers what was kept.
func (n *nemesis) network() {
	for _, m := range n.crew {
		before := m.Proxy.Faults()
		m.Proxy.Decide(nil)
		_, _ = m.Proxy.Deliver(n.Context()) // where Redis is away they stay kept
		for fate, count := range before {
			for range count - m.told[fate] {
				n.Tell("on the way", stage.Fault(fate.String()), true)
			}
		}
		m.told = maps.Clone(before)
	}
	rnd := extent.Random(n.rnd.Uint64())
	n.proxy().Decide(func(redistest.Request) redistest.Fate {
		if rnd.IntN(8) > 0 {
			return redistest.Pass
		}
		return fates[rnd.IntN(len(fates))]
	})
}

// pause is the rhythm of the faults, and their length.
func (n *nemesis) pause(d time.Duration) {
	ctx, stop := context.WithTimeout(n.Context(), d)
	defer stop()
	<-ctx.Done()
}

// revive replaces those who have ended.
func (n *nemesis) revive() {
	n.Helper()
	for _, m := range n.crew {
		select {
		case <-m.Ended():
			n.start(m)
		default:
		}
	}
}

func (n *nemesis) someone() *member { return n.crew[n.rnd.IntN(len(n.crew))] }

func (n *nemesis) kill() bool {
	m := n.someone()
	m.Kill()
	killed := m.Killed()
	n.start(m)
	return killed
}

func (n *nemesis) freeze() bool {
	m := n.someone()
	m.Signal(syscall.SIGSTOP)
	n.pause(2 * lease)
	m.Signal(syscall.SIGCONT)
	return true
}

func (n *nemesis) term() bool {
	m := n.someone()
	if m.orders.Role != stage.Work && m.orders.Role != stage.Subscribe {
		return false
	}
	m.Term()
	return n.Within(20*time.Second, func() bool {
		select {
		case <-m.Ended():
			return true
		default:
			return false
		}
	})
}

func (n *nemesis) killRedis() bool {
	began := history.Now()
	n.Server.Kill()
	n.History.Write(history.Event{Op: history.OpFault, Boundary: "at random", Code: string(died), Outcome: history.OK, Begun: began})
	n.pause(time.Duration(n.rnd.IntN(500)) * time.Millisecond)
	n.Restart()
	return true
}

func (n *nemesis) freezeRedis() bool {
	n.Server.Stop()
	n.pause(3 * lease / 2)
	n.Server.Cont()
	return true
}

// command is one that the server is given straight.
func (n *nemesis) command(args ...any) bool { return n.Direct().Do(n.Context(), args...).Err() == nil }

// setting changes a directive for a while.
func (n *nemesis) setting(name, to, back string) bool {
	if !n.command("CONFIG", "SET", name, to) {
		return false
	}
	n.pause(300 * time.Millisecond)
	return n.command("CONFIG", "SET", name, back)
}

// demote makes the server a replica of nobody that is there, for a while.
func (n *nemesis) demote() bool {
	if !n.command("CONFIG", "SET", "replica-serve-stale-data", "yes") || !n.command("REPLICAOF", "127.0.0.1", "1") {
		return false
	}
	n.pause(300 * time.Millisecond)
	return n.command("REPLICAOF", "NO", "ONE")
}

// rotate gives the server a password that nobody knows, for a while.
func (n *nemesis) rotate() bool {
	if !n.command("ACL", "SETUSER", "default", "resetpass", ">secret") {
		return false
	}
	n.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	n.pause(300 * time.Millisecond)
	c := n.Server.Client() // the run closes it
	return c.Do(n.Context(), "AUTH", "secret").Err() == nil && c.Do(n.Context(), "ACL", "SETUSER", "default", "nopass").Err() == nil
}

// slow runs a script of somebody else's that takes longer than Redis has patience: it answers BUSY meanwhile.
func (n *nemesis) slow() bool {
	if !n.command("CONFIG", "SET", "busy-reply-threshold", "5") {
		return false
	}
	const spin = "local t, u = redis.call('TIME'), nil repeat u = redis.call('TIME') until (u[1] - t[1]) * 1000000 + u[2] - t[2] > %d"
	return n.command("EVAL", fmt.Sprintf(spin, 100_000+n.rnd.IntN(300_000)), 0)
}

// jump sets the server's clock forth or back, by less than three leases.
func (n *nemesis) jump() bool {
	to := time.Duration(n.rnd.Int64N(int64(6*lease))) - 3*lease
	n.Server.Clock().Shift(to)
	n.History.Write(history.Event{
		Op: history.OpFault, Boundary: "at random", Code: string(jumped), Outcome: history.OK, DelayMS: (to - n.shift).Milliseconds(),
	})
	n.shift = to
	return true
}

// fill leaves the server's disk no room for a while. Where it syncs every write it ends by that.
func (n *nemesis) fill() bool {
	before := n.Refused("MISCONF")
	n.Server.Disk().Fill(0)
	n.pause(500 * time.Millisecond)
	refused := n.Refused("MISCONF") > before
	n.Server.Disk().Free()
	return n.restarted() || refused
}
