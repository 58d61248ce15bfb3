package receipt_test

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

	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/receipt"
)

// TestPurgeBesideWork moves the mark through the births of the jobs while they are delivered again and again, half of them
// in a transaction that has looked before. WAYBILL_ATTEMPTS sets the attempts of each of 8 workers; 400 is the full measure.
func TestPurgeBesideWork(t *testing.T) {
	t.Parallel()
	attempts := 20
	if n, err := strconv.Atoi(os.Getenv("WAYBILL_ATTEMPTS")); err == nil {
		attempts = n
	}
	each(t, variants(), receipt.Options{}, func(t *testing.T, s *stand) {
		w := work{stand: s, born: time.Now().Add(-40 * day), jobs: max(10, attempts*3/4), attempts: attempts}
		w.all(t)
		most := s.count(t, "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM effect GROUP BY n) each_job")
		c := s.r.Counts()
		t.Logf("seed %d, %+v", w.seed, c)
		if most != 1 {
			t.Errorf("a job has %d effects", most)
		}
		if c.Applied == 0 || c.Replayed == 0 || c.Horizons == 0 || c.Mismatches != 0 {
			t.Errorf("it shows nothing: %+v", c)
		}
	})
}

type work struct {
	*stand
	born           time.Time
	jobs, attempts int
	seed           uint64
}

func (w *work) all(t *testing.T) {
	t.Helper()
	w.seed = rand.Uint64()
	ctx, stop := context.WithCancel(t.Context())
	var workers, purger sync.WaitGroup
	w.purge(t, 37) // so that some are refused however quick the workers are
	purger.Go(func() {
		// Through the births to 2 days ago.
		for age := 37 * day; ctx.Err() == nil; age = max(2*day, age-6*time.Hour) {
			if _, err := w.r.Purge(ctx, "pay", age, nil); err != nil && ctx.Err() == nil {
				t.Errorf("purge: %v", err)
				return
			}
		}
	})
	for i := range 8 {
		workers.Go(func() { w.worker(t, rand.New(rand.NewPCG(w.seed, uint64(i)))) })
	}
	workers.Wait()
	stop()
	purger.Wait()
}

func (w *work) worker(t *testing.T, r *rand.Rand) {
	for range w.attempts {
		n := r.IntN(w.jobs)
		a := delivery(fmt.Sprint("job-", n))
		a.DueAt = w.born.Add(time.Duration(n) * 38 * day / time.Duration(w.jobs))
		k := keyOf(a)
		var err error
		if r.IntN(2) == 0 {
			_, err = w.do(t.Context(), k, adds(int64(n)))
		} else {
			_, err = w.inTxAfter(t.Context(), func(x statement) error {
				return x(t.Context(), "SELECT count(*) FROM looked")
			}, k, adds(int64(n)))
		}
		// A commit of the caller's, or what stands before the receipt, may be given up too: that is the caller's.
		if err != nil && !errors.Is(err, receipt.ErrHorizon) && !errors.Is(err, receipt.ErrRetry) && w.dialect.Fault(err) == dialect.Other {
			t.Errorf("job %d: %v", n, err)
			return
		}
	}
}
