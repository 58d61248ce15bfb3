package outboxtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/receipt"
	outboxtest "github.com/waybillhq/waybill/test/outbox"
)

// loss is how Redis comes back after it was killed.
type loss struct {
	name   string
	older  bool // with an older copy, else empty
	beside bool // workers run on, else they are killed with it and start after the replay
}

// TestRefill kills Redis in mid-run, with relays, workers and producers at work, and replays: every job that had not ended is
// done, no effect is there twice, and no job that had ended runs again.
func TestRefill(t *testing.T) {
	t.Parallel()
	const jobs = 1000
	for _, on := range []struct {
		name string
		give func(testing.TB) *sqltest.Database
	}{{"postgresql", sqltest.Postgres}, {"sqlite", sqltest.SQLite}} {
		for _, l := range []loss{
			{"Redis comes back empty", false, true},
			{"Redis comes back older", true, false},
			{"Redis comes back older while workers run", true, true},
		} {
			t.Run(on.name+": "+l.name+", is replayed, and all is done once", func(t *testing.T) {
				t.Parallel()
				newRefill(t, on.give(t), l).run(jobs)
			})
		}
	}
}

// refill is a run in which Redis loses its data.
type refill struct {
	*stand
	loss

	relays, workers, dead []*process // dead: workers that were killed
	copied                []byte     // of Redis
	sent, told            int        // as Redis had them when it was copied
}

func newRefill(t *testing.T, d *sqltest.Database, l loss) *refill {
	t.Helper()
	f := &refill{stand: newStand(t, d), loss: l}
	_, err := receipt.Migrate(t.Context(), f.db, d.Dialect, receipt.Options{})
	must(t, err)
	f.exec("CREATE TABLE effect (job VARCHAR(64) NOT NULL)") // no unique key: what is done twice is there twice
	for range 2 {
		f.relays = append(f.relays, f.start(f.orders(outboxtest.Relay)))
		f.workers = append(f.workers, f.startWorker())
	}
	return f
}

func (f *refill) startWorker() *process {
	f.Helper()
	o := f.orders(outboxtest.Work)
	o.Receipts = true
	return f.start(o)
}

func (f *refill) effects() int { return f.count("SELECT count(*) FROM effect") }

func (f *refill) run(jobs int) {
	f.Helper()
	producing, stop := context.WithCancel(f.Context())
	defer stop()
	var producer sync.WaitGroup
	producer.Go(func() { f.produce(producing, jobs) })
	if f.older {
		f.until("some jobs are done", func() bool { return f.effects() >= jobs/5 })
		f.save()
	}
	f.until("more jobs are done", func() bool { return f.effects() >= 2*jobs/5 })
	f.until("a relay heard of what the copy does not have", f.ahead)
	ended := f.lose()
	before := delivered(append(f.workers, f.dead...)...)
	atLoss := f.effects()
	f.until("the loss is noticed", f.noticed)
	did, err := f.box.Replay(f.Context(), f.client, outbox.ReplayOptions{})
	must(f.T, err)
	if len(did) != 1 || !did[0].Done {
		f.Errorf("replayed: %+v", did)
	}
	for len(f.workers) < 2 {
		f.workers = append(f.workers, f.startWorker())
	}
	producer.Wait()
	f.until("each row knows its job's end", f.settled)
	f.end()
	f.check(jobs, ended, before)
	f.Logf("%d effects and %d rows ended when Redis was lost; replayed %+v", atLoss, len(ended), did)
}

// produce enters jobs, some in a transaction, until there are enough.
func (f *refill) produce(ctx context.Context, jobs int) {
	for n := 0; n < jobs; n += 10 {
		tx, err := f.db.BeginTx(ctx, nil)
		if err == nil {
			err = f.box.Enqueue(ctx, tx, requests(names(fmt.Sprintf("p%04d", n), 10))...)
			err = errors.Join(err, tx.Commit())
		}
		if err != nil {
			f.Errorf("enter jobs: %v", err)
			return
		}
		pause(ctx, 30*time.Millisecond)
	}
}

// save keeps a copy of Redis as it is.
func (f *refill) save() {
	f.Helper()
	must(f.T, f.server.Client().Save(f.Context()).Err())
	var err error
	f.copied, err = os.ReadFile(filepath.Join(f.server.Dir(), "dump.rdb"))
	must(f.T, err)
	f.sent, f.told = f.counts() // of now: no less than those of the copy
}

// counts are what Redis took from the outbox, and how many words it ever left for one.
func (f *refill) counts() (sent, told int) {
	f.Helper()
	meta, err := f.server.Client().HGetAll(f.Context(), "wb:{"+queue+"}:meta").Result()
	must(f.T, err)
	for name, value := range meta {
		n, _ := strconv.Atoi(value)
		switch {
		case strings.HasPrefix(name, "sent:"):
			sent = n
		case name == "told":
			told = n
		}
	}
	return sent, told
}

// ahead tells whether the outbox knows of a call or a word that came after the copy was made. One that does not has lost nothing.
func (f *refill) ahead() bool {
	return f.count("SELECT sent FROM waybill_outbox_queue") > f.sent || f.count("SELECT told FROM waybill_outbox_queue") > f.told
}

// lose kills Redis and starts it again. It gives the jobs whose rows had ended before.
func (f *refill) lose() (ended []string) {
	f.Helper()
	if !f.beside {
		for _, w := range f.workers {
			w.Kill()
		}
		f.dead, f.workers = f.workers, nil
	}
	f.server.Kill()
	ended = f.strings("SELECT id FROM waybill_outbox WHERE state = 2")
	file := filepath.Join(f.server.Dir(), "dump.rdb")
	if f.older {
		must(f.T, os.WriteFile(file, f.copied, 0o600))
	}
	f.server.Restart()
	return ended
}

func (f *refill) noticed() bool {
	f.Helper()
	stats, err := f.box.Stats(f.Context())
	must(f.T, err)
	return errors.Is(stats.Lost(), outbox.ErrLost)
}

func (f *refill) end() {
	f.Helper()
	told := 0
	for _, p := range f.relays {
		must(f.T, p.Stop())
		told += len(lost(p))
	}
	if told != 1 {
		f.Errorf("the relays were told %d times that data was lost, want once", told)
	}
	for _, p := range f.workers {
		must(f.T, p.Stop())
	}
}

// check judges effects and deliveries. before: deliveries until Redis was lost.
func (f *refill) check(jobs int, ended []string, before map[string]int) {
	f.Helper()
	var c complaints
	effects := map[string]int{}
	for _, id := range f.strings("SELECT job FROM effect") {
		effects[id]++
	}
	rows := f.strings("SELECT id FROM waybill_outbox")
	for _, id := range rows {
		if effects[id] != 1 {
			c.add("effects: %s has %d", id, effects[id])
		}
	}
	if len(rows) != jobs || len(effects) != jobs {
		c.add("rows: %d, with effects %d, want %d", len(rows), len(effects), jobs)
	}
	after := delivered(append(f.workers, f.dead...)...)
	again := 0
	for _, id := range ended {
		if after[id] > before[id] {
			again++
		}
	}
	if again > 0 && !(f.older && f.beside) { // those run before anybody can replay: the receipts stand before their effects
		c.add("again: %d jobs ran again whose rows had ended", again)
	}
	all := 0
	for _, n := range after {
		all += n
	}
	f.Logf("%d jobs, %d deliveries, %d of them again of jobs whose rows had ended", jobs, all, again)
	c.tell(f.T)
}
