package runner_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waybillhq/waybill/internal/runner"
	"github.com/waybillhq/waybill/internal/store"
)

func TestAttempt_Count(t *testing.T) {
	one := store.Effects{Applied: 1}
	check := func(s *stage, want ...store.Effects) {
		s.Helper()
		s.q.mu.Lock()
		defer s.q.mu.Unlock()
		if d := cmp.Diff(want, s.q.told); d != "" {
			s.Errorf("sent with ends (-want +got):\n%s", d)
		}
		if ended := s.told(runner.Ended); len(ended) != 1 || ended[0].Effects != want[0] {
			s.Errorf("the observer is told %+v", ended)
		}
	}
	for name, h := range map[string]func() error{
		"an end":    func() error { return nil },
		"a failure": func() error { return errors.New("no") },
		"a panic":   func() error { panic("oh") },
		"an error that panics when asked": func() error {
			var e *typedError
			return e
		},
		"a handler that ends its goroutine": func() error {
			runtime.Goexit()
			return nil
		},
	} {
		t.Run(name+" tells what was counted before", func(t *testing.T) {
			q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}
			onStage(t, q, func(_ context.Context, a *runner.Attempt) error {
				a.Count(runner.EffectApplied)
				return h()
			}, func(s *stage) {
				later(time.Second)
				check(s, one)
			})
		})
	}
	t.Run("an end that is sent again tells the same", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}, fail: map[string]int{"settle": 2}}
		onStage(t, q, func(_ context.Context, a *runner.Attempt) error {
			a.Count(runner.EffectApplied)
			time.AfterFunc(time.Millisecond, func() { a.Count(runner.EffectApplied) }) // it goes on in secret
			return nil
		}, func(s *stage) {
			later(time.Minute)
			check(s, one, one, one)
		})
	})
	t.Run("of a handler that is given up, what it counted until then is told", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}
		onStage(t, q, func(ctx context.Context, a *runner.Attempt) error {
			a.Count(runner.EffectApplied)
			err := stubborn(time.Minute)(ctx, a)
			a.Count(runner.EffectMismatch)
			return err
		}, func(s *stage) {
			later(time.Second)
			if err := s.stop(); !errors.Is(err, runner.ErrUnfinished) {
				s.Errorf("stop: %v", err)
			}
			later(time.Minute)
			check(s, one)
		})
	})
}
