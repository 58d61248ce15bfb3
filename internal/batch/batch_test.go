package batch_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/waybillhq/waybill/internal/batch"
)

func TestBatcher(t *testing.T) {
	t.Run("a lone item is sent at once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var calls [][]int
			b := batch.New(10, func(items []int) { calls = append(calls, slices.Clone(items)) })
			b.Add(1)
			b.Wait()
			b.Add(2)
			b.Wait()
			if len(calls) != 2 {
				t.Errorf("calls %v", calls)
			}
		})
	})
	t.Run("what comes while a call is under way goes with the next, in order and within the bound", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var calls [][]int
			gate := make(chan struct{})
			b := batch.New(4, func(items []int) {
				<-gate
				calls = append(calls, slices.Clone(items))
			})
			for i := range 7 {
				b.Add(i)
				synctest.Wait() // the first is in flight
			}
			close(gate)
			b.Wait()
			want := [][]int{{0}, {1, 2, 3, 4}, {5, 6}}
			if !slices.EqualFunc(calls, want, slices.Equal) {
				t.Errorf("calls %v, want %v", calls, want)
			}
		})
	})
	t.Run("many at once lose nothing", func(t *testing.T) {
		sum := 0
		b := batch.New(100, func(items []int) {
			for _, i := range items {
				sum += i
			}
		})
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				for i := range 100 {
					b.Add(i)
				}
			})
		}
		all.Wait()
		b.Wait()
		if sum != 50*4950 {
			t.Errorf("sum %d", sum)
		}
	})
	t.Run("a call holds what fits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var calls [][]int
			gate := make(chan struct{})
			fit := func(waiting []int) int { return min(len(waiting), waiting[0]) }
			b := batch.NewFitting(fit, func(items []int) {
				<-gate
				calls = append(calls, slices.Clone(items))
			})
			for _, i := range []int{1, 2, 5, 1, 20, 3} {
				b.Add(i)
				synctest.Wait()
			}
			close(gate)
			b.Wait()
			want := [][]int{{1}, {2, 5}, {1}, {20, 3}}
			if !slices.EqualFunc(calls, want, slices.Equal) {
				t.Errorf("calls %v, want %v", calls, want)
			}
		})
	})
}
