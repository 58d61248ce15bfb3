package outboxtest_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/test/fault/extent"
	outboxtest "github.com/waybillhq/waybill/test/outbox"
)

// TestKilled kills twenty relays at every boundary on every database, each with rows of its own in flight.
func TestKilled(t *testing.T) {
	t.Parallel()
	const kills = 20
	began := time.Now()
	var played table
	t.Run("cells", func(t *testing.T) {
		for _, on := range []struct {
			name string
			give func(testing.TB) *sqltest.Database
		}{
			{"postgresql", sqltest.Postgres},
			{"mariadb", sqltest.MariaDB},
			{"sqlite", sqltest.SQLite},
		} {
			for _, die := range outboxtest.Boundaries() {
				t.Run(fmt.Sprintf("%s: %s leaves each job accepted once", on.name, die), func(t *testing.T) {
					t.Parallel()
					c := &cell{stand: newStand(t, on.give(t)), die: die}
					c.run(kills)
					c.check(kills).tell(t)
					played.add(on.name+"\t"+string(die), c)
				})
			}
		}
	})
	t.Logf("\n%s", played.String())
	played.sum.Tier = "outbox, killed"
	played.sum.Write(t, began)
}

// rowsEach is how many rows are in flight with a kill.
const rowsEach = 5

// cell is a boundary on a database. Each of its relays is killed there, and then another one goes on.
type cell struct {
	*stand

	die    outboxtest.Boundary
	proxy  *redistest.Proxy // where replies are dropped
	worker *process

	kills int // with rows in flight
	rows  int
	found complaints
	odd   complaints // kills that do not count
}

func (c *cell) run(kills int) {
	c.Helper()
	c.worker = c.start(c.orders(outboxtest.Work))
	c.begin()
	if c.die == outboxtest.ReplyDropped {
		c.proxy = redistest.NewProxy(c.T, c.server)
		digests := enqueueDigests()
		c.proxy.LoseWhere(func(request []byte) bool {
			for _, d := range digests {
				if strings.Contains(string(request), d) {
					return true
				}
			}
			return false
		})
	}
	for i := 0; c.kills < kills && i < 2*kills; i++ {
		c.kill(fmt.Sprintf("kill-%02d", i))
	}
	if c.kills < kills {
		c.found = append(c.found, c.odd...)
	}
	for _, text := range c.odd {
		c.Log(text)
	}
	must(c.T, c.worker.Stop())
}

// begin sends a first row, so that the server knows the scripts: one that it does not know is sent again.
func (c *cell) begin() {
	c.Helper()
	c.enter("first.0")
	c.rows = 1
	c.goOn()
}

// goOn lets a fresh relay run until all is settled.
func (c *cell) goOn() {
	c.Helper()
	stop := c.relay(c.box)
	defer stop()
	c.until("each row knows its job's end", c.settled)
}

// kill lets a relay die with rows in flight, and another one go on.
func (c *cell) kill(name string) {
	c.Helper()
	ids := names(name, rowsEach)
	before := c.stats().Accepted
	c.enter(ids...)
	c.rows += len(ids)
	if c.die.OfWords() {
		c.tellAll(ids)
	}
	p := c.start(c.relayOrders())
	select {
	case <-p.Ended():
	case <-time.After(mostTime):
		p.Kill()
	}
	at := p.died()
	c.found = append(c.found, lost(p)...)
	if at != c.die {
		c.found.add("kills: %s came to %q, and ended otherwise: %v", name, at, p.Wait())
	} else if why := c.traces(ids, c.stats().Accepted-before); why != "" {
		// The other goroutine of the same relay may have come by between the boundary and the death.
		c.odd.add("traces: %s: %s", name, why)
	} else {
		c.kills++
	}
	c.goOn()
}

// tellAll sends rows, and has the queue leave word of each: all are in flight then, and no relay has one locked.
func (c *cell) tellAll(ids []string) {
	c.Helper()
	must(c.T, c.queue.Pause(c.Context(), "the test")) // a relay that sends looks for words when it begins
	stop := c.relay(c.sender)
	c.until("rows are sent", func() bool { return c.count("SELECT count(*) FROM waybill_outbox WHERE state = 0") == 0 })
	stop()
	must(c.T, c.queue.Resume(c.Context()))
	c.until("their jobs have ended", func() bool { return len(c.words()) == len(ids) })
}

// relayOrders let a relay read words only where it is to die with them: else they would end rows meanwhile.
func (c *cell) relayOrders() outboxtest.Orders {
	o := c.orders(outboxtest.Relay)
	o.Die = c.die
	if !c.die.OfWords() {
		o.ReadMS = time.Minute.Milliseconds()
	}
	if c.proxy != nil {
		o.Redis, o.Enqueue = c.proxy.URL(), enqueueDigests()
	}
	return o
}

func enqueueDigests() []string {
	var all []string
	for digest, verb := range store.Digests() {
		if verb == "enqueue" {
			all = append(all, digest)
		}
	}
	return all
}

// lost complains of data of which a relay says that Redis lost it.
func lost(p *process) (c complaints) {
	for _, s := range p.Said() {
		if s.Lost != "" {
			c.add("lost: %s", s.Lost)
		}
	}
	return c
}

// check judges a cell at its end.
func (c *cell) check(kills int) complaints {
	c.Helper()
	found := c.found
	if c.kills != kills {
		found.add("kills: %d of %d", c.kills, kills)
	}
	if all := kills + len(c.odd); c.proxy != nil && c.proxy.Cuts() != all {
		found.add("replies: %d were dropped, of %d", c.proxy.Cuts(), all)
	}
	found = append(found, c.judge(c.worker)...)
	if n := c.count("SELECT count(*) FROM waybill_outbox"); n != c.rows {
		found.add("rows: %d, want %d", n, c.rows)
	}
	return found
}

// table is what was counted in the cells.
type table struct {
	mu    sync.Mutex
	lines []string
	sum   extent.Sum
}

func (t *table) add(name string, c *cell) {
	s := c.stats()
	ended := c.count("SELECT count(*) FROM waybill_outbox WHERE state = 2")
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.Faults, t.sum.Kills = t.sum.Faults+int64(c.kills), t.sum.Kills+int64(c.kills)
	t.sum.Jobs, t.sum.Deliveries = t.sum.Jobs+int64(c.rows), t.sum.Deliveries+s.Deliveries
	t.sum.Lost += int64(max(0, c.rows-ended))
	t.lines = append(t.lines, fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d", name, c.kills, c.rows, s.Accepted, s.Duplicates,
		s.Deliveries, ended, len(c.words())))
}

func (t *table) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "database\tkilled at\tkills\trows\taccepted\tduplicates\tdeliveries\tended\twords left")
	for _, line := range t.lines {
		fmt.Fprintln(w, line)
	}
	_ = w.Flush()
	return b.String()
}
