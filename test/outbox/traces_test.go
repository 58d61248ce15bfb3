package outboxtest_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/waybillhq/waybill/outbox"
	outboxtest "github.com/waybillhq/waybill/test/outbox"
)

// relay runs a fresh relay of an outbox in this process until stop is called.
func (s *stand) relay(box *outbox.Outbox) (stop func()) {
	ctx, cancel := context.WithCancel(s.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := box.Relay(ctx, s.client); err != nil {
			s.Errorf("relay: %v", err)
		}
	})
	return func() {
		cancel()
		all.Wait()
	}
}

// traces says, of a relay that died, in what its rows differ from what the boundary leaves behind; "" = in nothing, and they
// were in flight. accepted is by how much the queue's count has grown.
func (c *cell) traces(ids []string, accepted int64) string {
	c.Helper()
	state := map[string]int{}
	rows, err := c.db.QueryContext(c.Context(), "SELECT id, state FROM waybill_outbox WHERE id LIKE '"+txOf(ids[0])+".%'")
	must(c.T, err)
	defer rows.Close()
	for rows.Next() {
		var id string
		var n int
		must(c.T, rows.Scan(&id, &n))
		state[id] = n
	}
	must(c.T, rows.Err())
	return trace{c.die, ids, accepted, state, c.words()}.differs()
}

// trace is what a relay has left behind.
type trace struct {
	die      outboxtest.Boundary
	ids      []string
	accepted int64
	state    map[string]int  // of the rows
	words    map[string]bool // that are there
}

func (t trace) differs() string {
	var fresh, ended, told int
	for _, id := range t.ids {
		switch t.state[id] {
		case 0:
			fresh++
		case 2:
			ended++
		}
		if t.words[id] {
			told++
		}
	}
	all := len(t.ids)
	want := map[outboxtest.Boundary]bool{
		outboxtest.RowsLocked:     t.accepted == 0 && fresh == all,
		outboxtest.ReplyDropped:   t.accepted == int64(all) && fresh == all,
		outboxtest.AnswerRead:     t.accepted == int64(all) && fresh == all,
		outboxtest.RowsMarked:     t.accepted == int64(all) && fresh == all,
		outboxtest.RowsCommitted:  t.accepted == int64(all) && fresh == 0,
		outboxtest.WordsRead:      told == all && ended == 0,
		outboxtest.WordsMarked:    told == all && ended == 0,
		outboxtest.WordsCommitted: told == all && ended == all,
		outboxtest.WordsRemoved:   told == 0 && ended == all,
	}
	if want[t.die] {
		return ""
	}
	return fmt.Sprintf("accepted %d, rows %d: new %d, ended %d; words %d", t.accepted, all, fresh, ended, told)
}

// judge compares the rows that are committed with the jobs that a queue has accepted and its workers were given.
func (s *stand) judge(workers ...*process) complaints {
	s.Helper()
	var c complaints
	given := delivered(workers...)
	committed := s.strings("SELECT id FROM waybill_outbox")
	for _, id := range committed {
		switch n := given[id]; {
		case n == 0:
			c.add("skipped: %s", id)
		case n > 1:
			c.add("doubled: %s was delivered %d times", id, n)
		}
		delete(given, id)
	}
	for id := range given {
		c.add("never: %s was delivered, and no row of it is committed", id)
	}
	st := s.stats()
	if n := int64(len(committed)); st.Accepted != n || st.Deliveries != n || st.Completed != n || st.Live()+st.Dead != 0 {
		c.add("account: %d rows; accepted %d, delivered %d, completed %d, live %d, dead %d", n, st.Accepted, st.Deliveries,
			st.Completed, st.Live(), st.Dead)
	}
	if n := s.count("SELECT count(*) FROM waybill_outbox WHERE state <> 2"); n > 0 {
		c.add("rows: %d do not know that their jobs were acked", n)
	}
	if words := s.words(); len(words) > 0 {
		c.add("words: %d are left", len(words))
	}
	stats, err := s.box.Stats(s.Context())
	must(s.T, err)
	if err := stats.Lost(); err != nil {
		c.add("lost: %v", err)
	}
	return c
}
