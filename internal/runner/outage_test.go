package runner_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/runner"
	"github.com/waybillhq/waybill/internal/store"
)

// away makes the next calls of all sorts fail.
func (q *fakeQueue) away(is bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fail = map[string]int{}
	if is {
		q.fail = map[string]int{"settle": 1 << 30, "claim": 1 << 30, "renew": 1 << 30, "listen": 1 << 30}
	}
}

func TestRunner_RedisAway(t *testing.T) {
	t.Run("that it is away and that it is back are one line and one event each", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0), delivery(2, 0)}}
		onStage(t, q, after(2*time.Second), func(s *stage) {
			later(time.Second)
			q.away(true)
			later(time.Minute)
			if lines := strings.Count(s.log.String(), "\n"); lines != 1 || s.logged("redis unavailable") != 1 {
				s.Errorf("%d lines:\n%s", lines, s.log.String())
			}
			q.away(false)
			later(2 * time.Second)
			if lines := strings.Count(s.log.String(), "\n"); lines != 2 || s.logged("redis available again") != 1 {
				s.Errorf("%d lines:\n%s", lines, s.log.String())
			}
			up := s.told(runner.RedisUp)
			if len(s.told(runner.RedisDown)) != 1 || len(up) != 1 || up[0].Took < 55*time.Second || up[0].Took > 65*time.Second {
				s.Errorf("%+v", s.events)
			}
			if q.count("settled ack") != 2 {
				s.Errorf("ends were not settled: %v", q.seen())
			}
		})
	})
	t.Run("meanwhile few calls are made, and work goes on within two seconds", func(t *testing.T) {
		q := &fakeQueue{}
		onStage(t, q, quick, func(s *stage) {
			for range 3 {
				q.away(true)
				before := len(q.seen())
				later(time.Minute)
				if n := len(q.seen()) - before; n > 60*4 {
					s.Errorf("%d calls in a minute without Redis", n)
				}
				q.mu.Lock()
				q.jobs = []store.Delivery{delivery(1, 0)}
				q.mu.Unlock()
				q.away(false)
				done := q.count("settled ack")
				if later(2 * time.Second); q.count("settled ack") != done+1 {
					s.Error("two seconds after Redis is back the job has not run")
				}
			}
		})
	})
	t.Run("what runs meanwhile is in doubt, and no longer once its lease is renewed", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}
		onStage(t, q, after(2*time.Minute), func(s *stage) {
			later(time.Second)
			if is := s.r.Running(); len(is) != 1 || is[0].InDoubt {
				s.Errorf("before: %+v", is)
			}
			q.away(true)
			later(time.Minute)
			if is := s.r.Running(); len(is) != 1 || !is[0].InDoubt {
				s.Errorf("meanwhile: %+v", is)
			}
			q.away(false)
			later(2 * time.Second)
			if is := s.r.Running(); len(is) != 1 || is[0].InDoubt {
				s.Errorf("after: %+v", is)
			}
		})
	})
	t.Run("afterwards it settles, then renews, then claims", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0), delivery(2, 0)}}
		onStage(t, q, func(ctx context.Context, a *runner.Attempt) error {
			if a.ID == "j1" {
				return after(10*time.Second)(ctx, a)
			}
			return after(3*time.Minute)(ctx, a)
		}, func(s *stage) {
			later(time.Second)
			q.away(true)
			later(time.Minute)
			before := len(q.seen())
			q.away(false)
			later(2 * time.Second)
			calls := slices.DeleteFunc(q.seen()[before:], func(call string) bool { return call == "listen" })
			settled, claimed := slices.Index(calls, "settled ack"), slices.Index(calls, "claim")
			renewed := slices.Index(calls[max(settled, 0):], "renew") + settled
			if settled < 0 || claimed < 0 || renewed < settled || claimed < renewed {
				s.Errorf("settled at %d, renewed at %d, claimed at %d of %v", settled, renewed, claimed, calls)
			}
		})
	})
	t.Run("while ends are refused nothing is claimed, though renewals are answered", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0), delivery(2, 0)}, fail: map[string]int{"settle": 1 << 30}}
		onStage(t, q, func(ctx context.Context, a *runner.Attempt) error {
			if a.ID == "j1" {
				return after(time.Second)(ctx, a)
			}
			return after(2*time.Minute)(ctx, a)
		}, func(s *stage) {
			later(2 * time.Second)
			before := len(q.seen())
			later(time.Minute)
			calls := q.seen()[before:]
			if !slices.Contains(calls, "renew") || slices.Contains(calls, "claim") {
				s.Errorf("%v", calls)
			}
			q.away(false)
		})
	})
	t.Run("500 queues tell it once, and make few calls", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := &fakeQueue{}
			var o []runner.Options
			for i := range 500 {
				o = append(o, options(fmt.Sprint("q", i), q, 10))
			}
			downs, ups := 0, 0
			team := runner.NewTeam(runner.TeamOptions{
				Slots: runner.SlotsOptions{Total: 10}, Listener: newBells(), Listens: 8, Names: 128,
				Observe: func(e runner.Event) {
					switch e.Type {
					case runner.RedisDown:
						downs++
					case runner.RedisUp:
						ups++
					}
				},
			})
			_, stop := run(t, team, o...)
			later(10 * time.Second)
			q.away(true)
			later(30 * time.Second)
			q.away(false)
			later(10 * time.Second)
			if downs != 1 || ups != 1 {
				t.Errorf("told %d times that it is away, %d times that it is back", downs, ups)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	})
}

func TestRunner_Stop(t *testing.T) {
	t.Run("a Redis that is frozen does not hold it up beyond grace and seven seconds", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0), delivery(2, 0)}}
		onStage(t, q, func(ctx context.Context, a *runner.Attempt) error {
			if a.ID == "j1" {
				return after(5*time.Second)(ctx, a)
			}
			<-ctx.Done()
			return context.Cause(ctx)
		}, func(s *stage) {
			later(time.Second)
			q.mu.Lock()
			q.frozen = true
			q.mu.Unlock()
			later(5 * time.Second) // a claim, a settle and so on wait
			began := time.Now()
			if err := s.stop(); err == nil {
				s.Error("ends that are not recorded were not told")
			}
			if took := time.Since(began); took < 10*time.Second || took > 17*time.Second {
				s.Errorf("it took %s with a grace of 10 s", took)
			}
			if n := len(s.told(runner.Ended)); n != 2 || s.told(runner.Ended)[0].Recorded {
				s.Errorf("%+v", s.told(runner.Ended))
			}
		})
	})
	t.Run("the outcome of a handler that returns after its release is dropped with a line", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}
		onStage(t, q, stubborn(time.Minute), func(s *stage) {
			later(time.Second)
			if err := s.stop(); err == nil {
				s.Error("that a handler did not return was not told")
			}
			later(time.Minute)
			if q.count("settled release") != 1 || q.count("settled ack") != 0 || s.logged("outcome is dropped") != 1 {
				s.Errorf("%v\n%s", q.seen(), s.log.String())
			}
		})
	})
	t.Run("quiet, it claims nothing and finishes what runs", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}
		onStage(t, q, after(25*time.Second), func(s *stage) {
			later(time.Second)
			s.r.Quiet()
			synctest.Wait()
			before := q.count("claim")
			q.mu.Lock()
			q.rings, q.jobs = 1, []store.Delivery{delivery(2, 0)}
			q.mu.Unlock()
			later(30 * time.Second)
			if n := q.count("claim") - before; n != 0 || q.count("settled ack") != 1 || q.count("renew") < 2 {
				s.Errorf("%d claims, %v", n, q.seen())
			}
			if err := s.stop(); err != nil {
				s.Error(err)
			}
		})
	})
}
