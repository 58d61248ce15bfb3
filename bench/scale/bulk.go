package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

// bulk measures changes of many jobs, and what another queue feels of them.
func (r *rig) bulk(ctx context.Context, s settings, w io.Writer) (misses []string, err error) {
	other, err := r.other(ctx, s.rate)
	if err != nil {
		return nil, err
	}
	defer other.end()
	sleep(ctx, 2*time.Second) // it warms up
	other.take()
	sleep(ctx, s.base)
	base := other.take()
	fmt.Fprintf(w, "%-30s  %9s  %8s  %10s  %12s   pick-up of another queue, %d jobs/s\n", "change", "jobs", "jobs/s", "p50", "p99", s.rate)
	fmt.Fprintf(w, "%-30s  %9s  %8s  %10s  %12s\n", "none", "", "", brief(at(base, 0.5)), brief(at(base, 0.99)))
	if err := r.rdb.Do(ctx, "SLOWLOG", "RESET").Err(); err != nil {
		return nil, err
	}
	if err := r.rdb.Do(ctx, "LATENCY", "RESET").Err(); err != nil {
		return nil, err
	}
	in := func(state waybill.State) waybill.Filter { return waybill.Filter{States: []waybill.State{state}} }
	none := waybill.BulkOptions{}
	for _, c := range []struct {
		what string
		do   func() (waybill.BulkResult, error)
	}{
		{"list all dead", func() (waybill.BulkResult, error) {
			return r.queue.RequeueAll(ctx, waybill.Filter{}, waybill.BulkOptions{DryRun: true})
		}},
		{"requeue all dead", func() (waybill.BulkResult, error) { return r.queue.RequeueAll(ctx, waybill.Filter{}, none) }},
		{"cancel a tenth of the scheduled", func() (waybill.BulkResult, error) { return r.some(ctx, s.scheduled/10) }},
		{"delete all scheduled", func() (waybill.BulkResult, error) {
			return r.queue.DeleteAll(ctx, in(waybill.StateScheduled), waybill.DeleteOptions{}, none)
		}},
		{"purge all waiting", func() (waybill.BulkResult, error) { return r.queue.Purge(ctx, waybill.StateReady, none) }},
	} {
		other.take()
		began := time.Now()
		got, err := c.do()
		if err != nil {
			return misses, fmt.Errorf("%s: %w", c.what, err)
		}
		took, picked := time.Since(began), other.take()
		jobs := max(got.Changed, got.Matched)
		fmt.Fprintf(w, "%-30s  %9d  %8.0f  %10s  %12s\n", c.what, jobs, float64(jobs)/took.Seconds(),
			brief(at(picked, 0.5)), brief(at(picked, 0.99)))
		if p, b := at(picked, 0.99), at(base, 0.99); float64(p) > mostStretch*float64(b) {
			misses = append(misses, fmt.Sprintf("%s: pick-up p99 of the other queue %s, base %s", c.what, brief(p), brief(b)))
		}
	}
	slow, err := r.slow(ctx, w)
	return append(misses, slow...), err
}

// some cancels n scheduled jobs, the first.
func (r *rig) some(ctx context.Context, n int) (waybill.BulkResult, error) {
	stopping, stop := context.WithCancel(ctx)
	defer stop()
	got, err := r.queue.CancelAll(stopping, waybill.Filter{States: []waybill.State{waybill.StateScheduled}}, "", waybill.BulkOptions{
		Progress: func(b waybill.BulkResult) {
			if b.Changed >= int64(n) {
				stop()
			}
		},
	})
	if stopping.Err() != nil && ctx.Err() == nil {
		err = nil
	}
	return got, err
}

// slow tells of the longest commands, by the server itself.
func (r *rig) slow(ctx context.Context, w io.Writer) (misses []string, err error) {
	logs, err := r.rdb.SlowLogGet(ctx, -1).Result()
	if err != nil {
		return nil, err
	}
	longest := time.Duration(0)
	for _, l := range logs {
		longest = max(longest, l.Duration)
	}
	events, err := r.rdb.Do(ctx, "LATENCY", "LATEST").Slice()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(w, "\ncommands over %s by the slow log: %d, the longest %s\n", slowFrom, len(logs), brief(longest))
	for _, line := range byVerb(logs) {
		fmt.Fprintln(w, line)
	}
	for _, e := range events {
		if e, ok := e.([]any); ok && len(e) >= 4 {
			fmt.Fprintf(w, "latency monitor: %v, at most %v ms\n", e[0], e[3])
		}
	}
	if longest > mostCall {
		misses = append(misses, fmt.Sprintf("a command took %s, bound %s", brief(longest), mostCall))
	}
	return misses, nil
}

// byVerb tells how many slow calls each script made, and the longest.
func byVerb(logs []redis.SlowLog) (lines []string) {
	verbs, count, longest := store.Digests(), map[string]int{}, map[string]time.Duration{}
	for _, l := range logs {
		name := strings.ToLower(l.Args[0])
		if name == "evalsha" && len(l.Args) > 1 {
			name = verbs[l.Args[1]]
		}
		count[name]++
		longest[name] = max(longest[name], l.Duration)
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		lines = append(lines, fmt.Sprintf("  %-12s %5d, the longest %s", name, count[name], brief(longest[name])))
	}
	return lines
}

// other is another queue, at work.
type other struct {
	mu     sync.Mutex
	picked []time.Duration // from enqueue to begin
	stop   context.CancelFunc
	all    sync.WaitGroup
}

func (o *other) add(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.picked = append(o.picked, d)
}

// take gives what was measured since the last time, sorted.
func (o *other) take() []time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.picked
	o.picked = nil
	slices.Sort(out)
	return out
}

func (o *other) end() {
	o.stop()
	o.all.Wait()
}

// other begins to send and work off jobs of a queue of its own, so many a second.
func (r *rig) other(ctx context.Context, rate int) (*other, error) {
	o := &other{}
	running, stop := context.WithCancel(ctx)
	o.stop = stop
	w, err := waybill.NewWorker(r.Client, waybill.WorkerOptions{Queues: []waybill.QueueOptions{{Name: "other", Concurrency: 10}}})
	if err != nil {
		stop()
		return nil, err
	}
	w.HandleFunc("tick", waybill.KindOptions{}, func(_ context.Context, a *waybill.Attempt) ([]byte, error) {
		var sent time.Time
		if err := sent.UnmarshalBinary(a.Payload); err != nil {
			return nil, err
		}
		o.add(time.Since(sent))
		return nil, nil
	})
	o.all.Go(func() { _ = w.Run(running) }) // what it leaves is of no interest
	every := time.NewTicker(time.Second / time.Duration(rate))
	o.all.Go(func() {
		defer every.Stop()
		for {
			select {
			case <-running.Done():
				return
			case <-every.C:
				o.all.Go(func() { r.tick(running) })
			}
		}
	})
	return o, nil
}

func (r *rig) tick(ctx context.Context) {
	now, err := time.Now().MarshalBinary()
	if err == nil {
		_, _ = r.Enqueue(ctx, waybill.Request{Queue: "other", Kind: "tick", Payload: now}) // one that fails is not picked up
	}
}

// work works off n jobs of a queue and tells how long that took.
func (r *rig) work(ctx context.Context, queue string, n int) (time.Duration, error) {
	w, err := waybill.NewWorker(r.Client, waybill.WorkerOptions{Queues: []waybill.QueueOptions{{Name: queue, Concurrency: 100}}})
	if err != nil {
		return 0, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	done, began := 0, time.Now()
	var took time.Duration
	w.HandleFunc(waybill.AnyKind, waybill.KindOptions{}, func(context.Context, *waybill.Attempt) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		if done++; done == n {
			took = time.Since(began)
			stop()
		}
		return nil, nil
	})
	err = w.Run(running)
	return took, err
}

// at gives a quantile of sorted values; 0 where there are none.
func at(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
