package store_test

import (
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// mayStay are the keys that an empty queue keeps: settings and counters, what is remembered for a
// while, and a token of the bell.
var mayStay = []string{"meta", "stats", "claims", "settled:g0", "settled:g1", "settled:n0", "settled:n1", "bell"}

// drain works off all live jobs and purges the others. Whatever happened before, that must be possible.
func (m *machine) drain() {
	unlimited := int64(store.Unlimited)
	m.do(resumeCommand())
	m.do(configureCommand("capacity unlimited", store.Settings{Capacity: &unlimited, CrashAllowance: &unlimited}))
	for range 300 {
		if live, _ := m.last.live(); live == 0 && len(m.last["ready"].List) == 0 {
			m.purgeAll()
			return
		}
		m.drainSome()
	}
	m.t.Fatalf("can't be drained")
}

// drainSome settles what is active, waits for the next event where nothing is claimable, and claims.
func (m *machine) drainSome() {
	var items []store.Settlement
	for member := range m.last["leases"].Scores {
		_, el, _ := strings.Cut(member, " ")
		rec, err := record.Parse([]byte(m.last["job:"+el[16:]].Text))
		m.must(err)
		items = append(items, store.Settlement{Member: member, Keep: rec.Keep, End: store.Ack})
	}
	slices.SortFunc(items, func(a, b store.Settlement) int { return strings.Compare(a.Member, b.Member) })
	if len(items) > 0 {
		m.do(settleCommand(items))
	}
	claimable := len(m.last["ready"].List) + len(m.last["urgent"].Scores) + len(m.last["suspects"].Scores) +
		len(m.last["parked"].Scores) + len(m.last["overflow"].Scores)
	if events := m.events("due", "retry", "leases"); claimable == 0 && len(events) > 0 && !m.v.realTime {
		m.do(timeCommand("to the next event", max(events[0], m.m.Now)))
	} else if claimable == 0 { // no test waits for hours
		m.do(promoteCommand(m.waiting()))
	}
	for _, w := range workers { // each takes one suspect
		m.do(claimCommand(store.Claim{Worker: w, Number: m.numbers[w] + 1, Most: 1000, Lease: time.Minute, Suspect: true}))
		if len(m.last["suspects"].Scores) == 0 {
			break
		}
	}
}

// waiting are the IDs of jobs that wait for a time.
func (m *machine) waiting() (ids []string) {
	for _, key := range []string{"due", "retry"} {
		for el := range m.last[key].Scores {
			ids = append(ids, el[16:])
		}
	}
	slices.Sort(ids)
	return ids
}

// purgeAll removes what has ended; then nothing but what may stay is left.
func (m *machine) purgeAll() {
	m.do(purgeCommand(store.DeadState, 500))
	if m.expired() {
		w := workers[0]
		m.do(claimCommand(store.Claim{Worker: w, Number: m.numbers[w] + 1, Lease: time.Minute})) // sweeps
	}
	m.do(purgeCommand(store.EndedState, 500))
	m.audit()
	for key := range m.last {
		if !slices.Contains(mayStay, key) && !strings.HasPrefix(key, "told:") {
			m.t.Fatalf("I16: after a drain and a purge %q is left: %+v", key, m.last[key])
		}
	}
}
