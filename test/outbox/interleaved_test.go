package outboxtest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/outbox/pgxoutbox"
	outboxtest "github.com/waybillhq/waybill/test/outbox"
)

// seedVariable gives a run the seed of an earlier one.
const seedVariable = "WAYBILL_OUTBOX_SEED"

func seed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv(seedVariable)
	if text == "" {
		text = strconv.FormatUint(rand.Uint64(), 10)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	must(t, err)
	t.Logf("%s=%d", seedVariable, n)
	return n
}

// mix is many sessions whose transactions interleave, and relays that are killed.
type mix struct {
	sessions, rows int           // rows: so many are committed, and some more
	held           time.Duration // a transaction is open for at most about so long
	pgx            bool
	build          outboxtest.Build
	seed           uint64
	kills          int // so many relays are killed at least while rows are entered; of one that marks first, after it has marked
	cuts           int // so many connections of sessions are killed at least
}

// mostPlay is how long sessions go on at most until enough was killed.
const mostPlay = 4 * time.Minute

// TestInterleaved is scenario R17: sessions enter jobs in transactions whose order of commit is not that of their rows,
// while relays are killed. What is committed is accepted once, and nothing else is.
func TestInterleaved(t *testing.T) {
	t.Parallel()
	const kills, cuts = 12, 2
	for _, on := range []struct {
		name string
		give func(testing.TB) *sqltest.Database
		mix  mix
	}{
		{"postgresql, 50 sessions", sqltest.Postgres, mix{sessions: 50, rows: 2000, held: 600 * time.Millisecond}},
		{"postgresql by pgx, 50 sessions", sqltest.Postgres, mix{sessions: 50, rows: 2000, held: 600 * time.Millisecond, pgx: true}},
		{"mariadb, 50 sessions", sqltest.MariaDB, mix{sessions: 50, rows: 2000, held: 600 * time.Millisecond}},
		{"sqlite, one writer", sqltest.SQLite, mix{sessions: 1, rows: 1000, held: 3 * time.Millisecond}},
	} {
		t.Run(on.name+": committed is accepted once, rolled back is never seen", func(t *testing.T) {
			t.Parallel()
			m := on.mix
			m.kills, m.cuts, m.seed = kills, cuts, seed(t)
			p := m.play(newStand(t, on.give(t)))
			p.check().tell(t)
			if p.killed < kills || p.rolledBack == 0 || p.cut < cuts || m.sessions > 1 && p.inversions == 0 {
				t.Error("too little was killed, rolled back or out of order")
			}
		})
	}
}

// played is a mix, and what became of it.
type played struct {
	mix
	*stand

	worker *process
	pool   *pgxpool.Pool // where it goes by pgx
	pgxBox *pgxoutbox.Outbox

	began time.Time

	mu                        sync.Mutex
	killed, deaths            int            // relays that had begun to carry; deaths: at a boundary
	committed                 map[string]int // jobs of transactions whose commit was answered
	undone                    map[string]int // jobs of those that were rolled back, or killed
	order                     []string       // of commits
	jobs                      int            // committed
	rolledBack, cut, unsure   int            // transactions
	inversions                int            // transactions with a row before one that was committed earlier
	relayProblems, txProblems []string
}

func (m mix) play(s *stand) *played {
	s.Helper()
	p := &played{mix: m, stand: s, committed: map[string]int{}, undone: map[string]int{}}
	s.exec("CREATE TABLE seen (seq BIGINT NOT NULL)")
	s.exec("INSERT INTO seen (seq) VALUES (0)")
	s.db.SetMaxIdleConns(m.sessions + 4)
	if m.pgx {
		p.openPgx()
	}
	_, err := s.box.Name(s.Context())
	must(s.T, err)
	p.worker = s.start(s.orders(outboxtest.Work))
	if m.build == outboxtest.Cursor {
		p.overtake()
	}
	p.began = time.Now()
	ctx, stop := context.WithCancel(s.Context())
	var relays, writers sync.WaitGroup
	for i := range 2 {
		relays.Go(func() { p.killRelays(ctx, uint64(i)) })
	}
	for i := range m.sessions {
		writers.Go(func() { p.session(s.Context(), i) })
	}
	writers.Wait()
	wrote := time.Since(p.began)
	stop()
	relays.Wait()
	p.finish()
	p.inversions = p.countInversions()
	s.Logf("%d jobs in %d transactions (%s, %s with their end), %d rolled back, %d killed, %d commits unanswered, "+
		"%d out of order; %d relays killed, %d of them at a boundary; %d duplicates", p.jobs, len(p.committed), wrote.Round(time.Millisecond),
		time.Since(p.began).Round(time.Millisecond), p.rolledBack, p.cut, p.unsure, p.inversions, p.killed, p.deaths, s.stats().Duplicates)
	return p
}

func (p *played) openPgx() {
	p.Helper()
	config, err := pgxpool.ParseConfig(p.d.DSN)
	must(p.T, err)
	config.MaxConns = int32(p.sessions) + 4 //nolint:gosec // a small number
	p.pool, err = pgxpool.NewWithConfig(p.Context(), config)
	must(p.T, err)
	p.Cleanup(p.pool.Close)
	p.pgxBox, err = pgxoutbox.New(p.pool, outbox.Options{})
	must(p.T, err)
	p.Cleanup(func() { _ = p.pgxBox.Close() })
}

// session does transactions until enough is committed, and slowly once only kills are wanting.
func (p *played) session(ctx context.Context, number int) {
	r := rand.New(rand.NewPCG(p.seed, uint64(number)))
	for n := 0; ; n++ {
		rows, rest := p.enough()
		if rows && rest {
			return
		}
		if err := p.transact(ctx, r, fmt.Sprintf("s%02d-%d", number, n)); err != nil {
			p.mu.Lock()
			p.txProblems = append(p.txProblems, err.Error())
			p.mu.Unlock()
		}
		if p.sessions == 1 {
			pause(ctx, below(r, p.held)) // the relays need their turns
		}
		if rows {
			pause(ctx, below(r, time.Duration(p.sessions)*100*time.Millisecond))
		}
	}
}

// enough says whether the rows are enough, and all else.
func (p *played) enough() (rows, rest bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.began) > mostPlay || len(p.txProblems) > 100 {
		return true, true
	}
	kills := p.killed
	if p.build == outboxtest.MarkFirst {
		kills = p.deaths
	}
	return p.jobs >= p.rows, kills >= p.kills && p.cut >= p.cuts && p.rolledBack > 0
}

// transact does a transaction of 1 to 20 jobs, entered in up to three calls with pauses between.
func (p *played) transact(ctx context.Context, r *rand.Rand, name string) error {
	begin := p.begin
	if p.pgx {
		begin = func(ctx context.Context) (transaction, error) { return beginPgx(ctx, p.pool, p.pgxBox) }
	}
	tx, err := begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.end()
	ids := names(name, 1+r.IntN(20))
	for rest := ids; len(rest) > 0 && err == nil; {
		n := min(len(rest), 1+r.IntN(10))
		err = tx.enqueue(ctx, rest[:n])
		rest = rest[n:]
		pause(ctx, below(r, p.held/2))
	}
	if err == nil {
		err = tx.note(ctx, name, len(ids))
	}
	fate := r.IntN(100)
	if err == nil && fate < 90 {
		return p.commit(ctx, tx, name, len(ids))
	}
	cut := err == nil && fate >= 97
	if errors.Is(err, outbox.ErrRetry) {
		err = nil // it is rolled back, and as the application would, this begins anew, under another name
	}
	if cut {
		err = tx.kill(ctx)
	}
	tx.rollback(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.undone[name] = len(ids)
	if cut {
		p.cut++
	} else {
		p.rolledBack++
	}
	return err
}

func (p *played) commit(ctx context.Context, tx transaction, name string, jobs int) error {
	err := tx.commit(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.unsure++ // the application's own row tells
		return fmt.Errorf("commit: %w", err)
	}
	p.committed[name] = jobs
	p.order = append(p.order, name)
	p.jobs += jobs
	return nil
}
