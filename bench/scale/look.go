package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill"
)

// looks measures what an operator does with single jobs and the whole.
func (r *rig) looks(ctx context.Context, s settings, w io.Writer) (misses []string, err error) {
	const times = 20
	first := func(state waybill.State) func(int) error {
		return func(int) error {
			n := 0
			for _, err := range r.queue.Jobs(ctx, waybill.Filter{States: []waybill.State{state}}) {
				if n++; err != nil || n == 50 {
					return err
				}
			}
			return nil
		}
	}
	middle := func(name string, of int) func(int) string {
		return func(i int) string { return fmt.Sprintf("%s-%d", name, of/2+i) }
	}
	waiting, scheduled, dead := middle("w", s.waiting), middle("s", s.scheduled), middle("d", s.dead)
	fmt.Fprintf(w, "%-44s  %10s  %10s\n", "what", "median", "longest")
	for _, m := range []struct {
		what string
		do   func(i int) error
	}{
		{"stats", func(int) error { _, err := r.queue.Stats(ctx); return err }},
		{"list: first 50 waiting", first(waybill.StateReady)},
		{"list: first 50 scheduled", first(waybill.StateScheduled)},
		{"list: first 50 dead", first(waybill.StateDead)},
		{"get one in the middle, waiting", func(i int) error { _, err := r.queue.Get(ctx, waiting(i)); return err }},
		{"get one in the middle, dead", func(i int) error { _, err := r.queue.Get(ctx, dead(i)); return err }},
		{"cancel one in the middle, waiting", func(i int) error { return r.queue.Cancel(ctx, waiting(i), "") }},
		{"cancel one in the middle, scheduled", func(i int) error { return r.queue.Cancel(ctx, scheduled(i), "") }},
		{"promote one in the middle, scheduled", func(i int) error { return r.queue.Promote(ctx, scheduled(i+times)) }},
		{"requeue one in the middle, dead", func(i int) error { return r.queue.Requeue(ctx, dead(i)) }},
		{"delete one in the middle, dead", func(i int) error { return r.queue.Delete(ctx, dead(i+times), waybill.DeleteOptions{}) }},
	} {
		took := make([]time.Duration, times)
		for i := range took {
			began := time.Now()
			if err := m.do(i); err != nil {
				return misses, fmt.Errorf("%s: %w", m.what, err)
			}
			took[i] = time.Since(began)
		}
		slices.Sort(took)
		longest := took[times-1]
		fmt.Fprintf(w, "%-44s  %10s  %10s\n", m.what, brief(took[times/2]), brief(longest))
		if longest > mostLook {
			misses = append(misses, fmt.Sprintf("%s: %s, bound %s", m.what, brief(longest), mostLook))
		}
	}
	fmt.Fprintln(w)
	return misses, nil
}

func brief(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }

// field reads a number of INFO.
func field(info, name string) float64 {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			n, _ := strconv.ParseFloat(value, 64)
			return n
		}
	}
	return 0
}
