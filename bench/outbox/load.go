package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// load is a number of clients that call something again and again.
type load struct {
	clients int
	rate    float64 // calls a second, of all of them; 0 = as fast as they go
}

// loaded is what a load met.
type loaded struct {
	rate float64 // calls a second
	p99  time.Duration
}

// run calls f for so long. At a given rate a call is timed from when it was due: one that is late makes those after it late.
func (l load) run(ctx context.Context, most time.Duration, f func(context.Context) error) (loaded, error) {
	took := make([][]time.Duration, l.clients)
	errs := make([]error, l.clients)
	var all sync.WaitGroup
	began := time.Now()
	for i := range l.clients {
		all.Go(func() {
			for n := 0; errs[i] == nil; n++ {
				due := time.Now()
				if l.rate > 0 {
					due = began.Add(time.Duration(float64(n*l.clients+i) / l.rate * float64(time.Second)))
					time.Sleep(time.Until(due))
				}
				if due.Sub(began) >= most {
					return
				}
				errs[i] = f(ctx)
				took[i] = append(took[i], time.Since(due))
			}
		})
	}
	all.Wait()
	took[0] = slices.Concat(took...)
	slices.Sort(took[0])
	return loaded{float64(len(took[0])) / time.Since(began).Seconds(), at(took[0], 0.99)}, errors.Join(errs...)
}

// at is a quantile of sorted times; 0 where there are none.
func at(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}
