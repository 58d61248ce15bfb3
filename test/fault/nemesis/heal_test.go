package nemesis_test

import (
	"time"

	"github.com/waybillhq/waybill/test/fault/stage"
	"github.com/waybillhq/waybill/topic"
)

// restarted starts the server again where it has ended by itself, and tells whether it had.
func (n *nemesis) restarted() bool {
	n.Helper()
	select {
	case <-n.Server.Done():
		n.Restart()
		return true
	default:
		return false
	}
}

// heal ends all that goes wrong.
func (n *nemesis) heal() {
	n.Helper()
	n.restarted()
	n.network()
	for _, m := range n.crew {
		m.Proxy.Decide(nil)
	}
	n.Until("Redis takes writes", func() bool {
		return n.command("REPLICAOF", "NO", "ONE") && n.command("CONFIG", "SET", "maxmemory", "0") && n.command("SET", "heal", "1") &&
			n.command("DEL", "heal")
	})
	n.revive()
}

// finish lets nobody send anything more, and waits until all that was sent is done.
func (n *nemesis) finish() {
	n.Helper()
	close(n.over)
	n.all.Wait()
	for _, m := range n.crew {
		switch m.orders.Role {
		case stage.Produce, stage.Publish, stage.Await:
			if err := m.Stop(); err != nil {
				n.Error(err)
			}
		}
	}
	began := time.Now()
	n.Until("all rows have ended", n.carried)
	for _, q := range append([]string{work, bulk, asked, posted}, subscriptions...) {
		n.Until("all events are taken", func() bool { return n.lag() == 0 })
		n.Idle(q)
	}
	n.Logf("all was done %s after the last fault", time.Since(began))
	for _, m := range n.crew {
		if m.orders.Role == stage.Work || m.orders.Role == stage.Subscribe || m.orders.Role == stage.Relay {
			if err := m.Stop(); err != nil {
				n.Error(err)
			}
		}
	}
}

// lag is how many events some subscription has not taken; -1 where Redis does not answer.
func (n *nemesis) lag() (lag int64) {
	st, err := topic.Open(n.Client, events).Stats(n.Context())
	if err != nil {
		return -1
	}
	for _, s := range st.Subscriptions {
		lag += s.Lag
	}
	return lag
}
