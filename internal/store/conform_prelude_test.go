package store_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// prelude brings some runs to a state that random commands seldom reach by themselves.
func (m *machine) prelude(t *rapid.T) {
	if m.v.realTime {
		return
	}
	adds := []store.Add{}
	for i, id := range givenIDs[:4] {
		a := store.Add{ID: id, Priority: i % 2}
		a.Job = record.Job{Kind: kinds[i%3], Payload: []byte("p" + id), Named: true, Outbox: pick(t, "outbox", byte(0), 'x')}
		adds = append(adds, a)
	}
	switch pick(t, "prelude", "none", "none", "none", "suspects", "expired", "dead", "errors") {
	case "suspects":
		m.do(enqueueCommand(adds, false))
		for range pick(t, "crashes", 2, 2, 3, 5) {
			m.crash()
		}
	case "expired":
		m.do(enqueueCommand(adds, false))
		m.endAll(pick(t, "end", store.Complete, store.Cancel), 3*time.Hour)
		for range 2 { // windows turn, and forget
			m.do(timeCommand("on 80 min", m.m.Now+80*hour/60))
			m.claimAll(workers[0], 0)
		}
		m.do(timeCommand("on 20 min", m.m.Now+20*hour/60))
		m.do(expireCommand())
		m.do(enqueueCommand(adds[:2], false)) // the IDs are free, and nothing is swept yet
	case "dead":
		m.do(enqueueCommand(adds, false))
		m.endAll(store.Dead, 0)
	case "errors":
		m.do(enqueueCommand(adds[:1], false))
		for range 11 {
			m.endAll(store.Retry, 0)
		}
	}
}

// claimAll claims as the next claim of a worker, under a lease of a second.
func (m *machine) claimAll(worker string, most int) {
	m.do(claimCommand(store.Claim{Worker: worker, Number: m.numbers[worker] + 1, Most: most, Lease: time.Second, Suspect: true}))
}

// crash claims what it can, as all workers, and lets the leases end; and what waits after a crash, come back.
func (m *machine) crash() {
	for _, w := range workers {
		m.claimAll(w, 10)
	}
	m.do(timeCommand("on 1 s", m.m.Now+1000))
	m.claimAll(workers[0], 0)
	if events := m.events("retry"); len(events) > 0 {
		m.do(timeCommand("to the last retry", max(m.m.Now, events[len(events)-1])))
		m.claimAll(workers[1], 0)
	}
}

// endAll claims and settles.
func (m *machine) endAll(end store.End, retention time.Duration) {
	m.claimAll(workers[0], 10)
	var items []store.Settlement
	for i, member := range m.held() {
		line := store.Error{Attempt: i, Type: "failure", Message: fmt.Sprint("no ", m.step)}.Line()
		items = append(items, store.Settlement{Member: member, Keep: m.keeps[member], End: end, Retention: retention, Line: line})
	}
	if len(items) > 0 {
		m.do(settleCommand(items))
	}
}
