package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill"
)

// relayRate is how many rows a second one relay carries that finds them all there, and nobody else works.
func relayRate(ctx context.Context, s settings, r *rig, w io.Writer) error {
	if err := r.fill(ctx, s.rows); err != nil {
		return err
	}
	began := time.Now()
	stop := during(ctx, r.relay)
	for n := int64(1); n > 0; time.Sleep(look) {
		var err error
		if n, err = r.left(ctx); err != nil {
			return errors.Join(err, stop())
		}
	}
	took := time.Since(began)
	if err := stop(); err != nil {
		return err
	}
	q, err := r.client.Queue(r.queue).Stats(ctx)
	if err != nil {
		return err
	}
	if q.Accepted != int64(s.rows) {
		return fmt.Errorf("%d rows, and %d jobs were accepted", s.rows, q.Accepted)
	}
	_, err = fmt.Fprintf(w, "%-10s  relay    %d rows of 200 bytes: %.0f rows/s\n", r.dialect, s.rows, float64(s.rows)/took.Seconds())
	return err
}

// beside is what the application's transactions cost with a relay that carries their rows, against none.
func beside(ctx context.Context, s settings, r *rig, w io.Writer) error {
	nobody := func() (func() error, error) { return func() error { return nil }, nil }
	busy := func() (func() error, error) {
		stop := during(ctx, r.relay)
		for { // what stands from the round before is none of this one
			n, err := r.left(ctx)
			if err != nil || n == 0 {
				return stop, err
			}
			time.Sleep(look)
		}
	}
	full, err := compareLoad(ctx, s, r, load{clients: s.clients}, nobody, busy)
	if err != nil {
		return err
	}
	rate := full[0].rate / 2
	half, err := compareLoad(ctx, s, r, load{clients: s.clients, rate: rate}, nobody, busy)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name string
		of   [2]loaded
	}{{"as fast as it goes", full}, {fmt.Sprintf("at %.0f/s", rate), half}} {
		alone, with := c.of[0], c.of[1]
		if _, err := fmt.Fprintf(w, "%-10s  beside   %d clients, %-18s: %.0f tx/s, with a relay %.0f (%.2f); p99 %.2f ms, with a relay %.2f (%.2f)\n",
			r.dialect, s.clients, c.name, alone.rate, with.rate, with.rate/alone.rate, ms(alone.p99), ms(with.p99),
			float64(alone.p99)/float64(with.p99)); err != nil {
			return err
		}
	}
	return nil
}

// compareLoad takes turns, and gives the medians.
func compareLoad(ctx context.Context, s settings, r *rig, l load, kinds ...func() (func() error, error)) (out [2]loaded, err error) {
	var rates, p99s [2][]float64
	for range s.rounds {
		for i, begin := range kinds {
			stop, err := begin()
			if err != nil {
				return out, err
			}
			got, err := l.run(ctx, s.each, r.order)
			if err := errors.Join(err, stop()); err != nil {
				return out, err
			}
			rates[i], p99s[i] = append(rates[i], got.rate), append(p99s[i], float64(got.p99))
		}
	}
	for i := range out {
		out[i] = loaded{rate: median(rates[i]), p99: time.Duration(median(p99s[i]))}
	}
	return out, nil
}

// latency is how soon a job starts after its commit began, beside the plain client's enqueue.
func latency(ctx context.Context, s settings, r *rig, w io.Writer) error {
	for _, c := range []struct {
		name string
		send func(context.Context) (string, time.Time, error)
	}{
		{"outbox, poll 100 ms", func(ctx context.Context) (string, time.Time, error) { return r.committed(ctx, false) }},
		{"outbox, Kick", func(ctx context.Context) (string, time.Time, error) { return r.committed(ctx, true) }},
		{"plain client", r.enqueued},
	} {
		r.queue = fmt.Sprint("start-", r.jobs.Load()) // one that is empty
		took, err := r.starts(ctx, s, c.send)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%-10s  latency  %-20s: p50 %.2f ms, p99 %.2f ms (%d jobs, 100/s)\n", r.dialect, c.name,
			ms(at(took, 0.5)), ms(at(took, 0.99)), len(took)); err != nil {
			return err
		}
	}
	return nil
}

// committed enters a job, and tells when its commit began.
func (r *rig) committed(ctx context.Context, kick bool) (string, time.Time, error) {
	q := r.request()
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return "", time.Time{}, err
	}
	if err := r.box.Enqueue(ctx, tx, q); err != nil {
		return "", time.Time{}, errors.Join(err, tx.Rollback())
	}
	began := time.Now()
	err = tx.Commit()
	if kick {
		r.box.Kick()
	}
	return q.ID, began, err
}

func (r *rig) enqueued(ctx context.Context) (string, time.Time, error) {
	q, began := r.request(), time.Now()
	_, err := r.client.Enqueue(ctx, q)
	return q.ID, began, err
}

// starts sends jobs at a steady pace, and gives the times from their sending to the begin of their handlers.
func (r *rig) starts(ctx context.Context, s settings, send func(context.Context) (string, time.Time, error)) ([]time.Duration, error) {
	var mu sync.Mutex
	began, started := map[string]time.Time{}, map[string]time.Time{}
	stop := during(ctx, r.relay, func(ctx context.Context) error {
		return r.work(ctx, func(a *waybill.Attempt) {
			now := time.Now()
			mu.Lock()
			defer mu.Unlock()
			started[a.ID] = now
		})
	})
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(s.each); time.Now().Before(end); <-tick.C {
		id, at, err := send(ctx)
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		began[id] = at
	}
	for wait := time.Now().Add(10 * time.Second); time.Now().Before(wait); time.Sleep(look) {
		mu.Lock()
		n := len(started)
		mu.Unlock()
		if n >= len(began) {
			break
		}
	}
	if err := stop(); err != nil {
		return nil, err
	}
	var took []time.Duration
	for id, at := range began {
		if started[id].IsZero() {
			return nil, fmt.Errorf("job %s did not start", id)
		}
		took = append(took, started[id].Sub(at))
	}
	slices.Sort(took)
	return took, nil
}
