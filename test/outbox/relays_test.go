package outboxtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	outboxtest "github.com/waybillhq/waybill/test/outbox"
)

func (p *played) relayOrders() outboxtest.Orders {
	o := p.orders(outboxtest.Relay)
	o.Build = p.build
	if p.pgx {
		o.Driver = outboxtest.Pgx
	}
	return o
}

// killRelays keeps a relay running, and kills it again and again: at a random time, or it kills itself at a random boundary.
func (p *played) killRelays(ctx context.Context, number uint64) {
	r := rand.New(rand.NewPCG(p.seed, 1000+number))
	for ctx.Err() == nil {
		o := p.relayOrders()
		o.Seed, o.Chance = r.Uint64(), 10+r.IntN(40)
		if p.build == outboxtest.MarkFirst { // no luck is needed
			o.Die, o.Chance = outboxtest.RowsCommitted, 0
		}
		relay, err := start(p.T, o)
		if err != nil {
			p.problem(err.Error())
			return
		}
		p.wait(ctx, relay, below(r, p.life()))
		relay.Kill()
		if !relay.Killed() {
			p.problem(fmt.Sprint(relay.Wait()))
		}
		for _, text := range lost(relay) {
			p.problem(text)
		}
		p.mu.Lock()
		if relay.up() {
			p.killed++
		}
		if relay.died() != "" {
			p.deaths++
		}
		p.mu.Unlock()
	}
}

// life is how long a relay lives at most once it carries: longer when enough were killed, as each start takes time from the
// sessions.
func (p *played) life() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed < p.kills {
		return 200 * time.Millisecond
	}
	return time.Second
}

func (p *played) problem(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.relayProblems = append(p.relayProblems, text)
}

// wait waits until a relay has done something, and then for some time, or until it has ended.
func (p *played) wait(ctx context.Context, relay *process, d time.Duration) {
	for !relay.up() && ctx.Err() == nil && !relay.over() {
		pause(ctx, look)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-relay.Ended():
	case <-t.C:
	}
}

// finish lets relays that nobody kills carry the rest, and the jobs end.
func (p *played) finish() {
	p.Helper()
	relays := []*process{p.start(p.relayOrders()), p.start(p.relayOrders())}
	if p.build == outboxtest.Whole {
		p.until("each row knows its job's end", p.settled)
	} else {
		p.until("the relays find nothing more", func() bool { return idle(relays[0]) && idle(relays[1]) })
		p.until("all jobs are done", func() bool { return p.stats().Live() == 0 })
	}
	for _, relay := range append(relays, p.worker) {
		if err := relay.Stop(); err != nil {
			p.problem(err.Error())
		}
		for _, text := range lost(relay) {
			p.problem(text)
		}
	}
}

func idle(p *process) bool {
	for _, s := range p.Said() {
		if s.Idle {
			return true
		}
	}
	return false
}

// countInversions counts the transactions that have a row with a lower number than one that was committed earlier.
func (p *played) countInversions() (n int) {
	p.Helper()
	first, last := map[string]int64{}, map[string]int64{}
	rows, err := p.db.QueryContext(p.Context(), "SELECT seq, id FROM waybill_outbox ORDER BY seq")
	must(p.T, err)
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var id string
		must(p.T, rows.Scan(&seq, &id))
		if _, ok := first[txOf(id)]; !ok {
			first[txOf(id)] = seq
		}
		last[txOf(id)] = seq
	}
	must(p.T, rows.Err())
	highest := int64(0)
	for _, tx := range p.order {
		if first[tx] < highest {
			n++
		}
		highest = max(highest, last[tx])
	}
	return n
}

// check judges the application's rows, the outbox's, and the jobs.
func (p *played) check() complaints {
	p.Helper()
	var c complaints
	for _, text := range p.relayProblems {
		c.add("relays: %s", text)
	}
	for _, text := range p.txProblems {
		c.add("transactions: %s", text)
	}
	app := map[string]int{}
	for _, tx := range p.strings("SELECT tx FROM app") {
		app[tx] = 0
	}
	for _, id := range p.strings("SELECT id FROM waybill_outbox") {
		if _, there := app[txOf(id)]; !there {
			c.add("app: %s has a row in the outbox, and its transaction none", id)
		}
		app[txOf(id)]++
	}
	for tx, jobs := range p.committed {
		if app[tx] != jobs {
			c.add("app: %s was committed with %d jobs, and has %d rows", tx, jobs, app[tx])
		}
	}
	for tx := range p.undone {
		if n, there := app[tx]; there {
			c.add("app: %s was rolled back, and has %d rows", tx, n)
		}
	}
	return append(c, p.judge(p.worker)...)
}
