package runner_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/runner"
	"github.com/waybillhq/waybill/internal/store"
)

// duo is a team with runners of two queues, each of which may be stopped alone.
type duo struct {
	a, b *fakeQueue
	drop func() error // a, with a grace of a second
	// during is what handlers of a do.
	during func(context.Context)
}

// pair runs queues a and b, ten slots each, in fake time, with an hour between two looks.
func pair(t *testing.T, d *duo, o runner.TeamOptions, body func()) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Poll, o.Listener = time.Hour, newBells()
		team := runner.NewTeam(o)
		watch, enough := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { team.Run(watch) })
		begin := func(name string, q *fakeQueue) (end func() error) {
			opts := options(name, q, 10)
			opts.Grace = time.Second
			opts.Handle = func(ctx context.Context, _ *runner.Attempt) ([]byte, error) {
				if name == "a" && d.during != nil {
					d.during(ctx)
				}
				return nil, nil
			}
			r, ended := team.Runner(opts), make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			go func() { ended <- r.Run(ctx) }()
			return sync.OnceValue(func() error {
				cancel()
				return <-ended
			})
		}
		d.drop = begin("a", d.a)
		later(time.Second)
		stop := begin("b", d.b)
		body()
		_ = d.drop()
		if err := stop(); err != nil {
			t.Error(err)
		}
		enough()
		all.Wait()
		later(10 * time.Minute)
	})
}

func slots(total int) runner.TeamOptions {
	return runner.TeamOptions{Slots: runner.SlotsOptions{Total: total}}
}

func TestTeam_Suspects(t *testing.T) {
	t.Run("the next one comes when the one before has ended, not with the next look", func(t *testing.T) {
		d := &duo{a: &fakeQueue{jobs: []store.Delivery{delivery(1, 2), delivery(2, 2), delivery(3, 3)}}, b: &fakeQueue{}}
		d.b.jobs = []store.Delivery{delivery(4, 2), delivery(5, 2)}
		d.during = func(context.Context) { pass(3 * time.Second) }
		pair(t, d, slots(20), func() {
			later(time.Minute)
			if a, b := d.a.count("settled ack"), d.b.count("settled ack"); a != 3 || b != 2 {
				t.Errorf("%d of 3 and %d of 2 ran", a, b)
			}
		})
	})
	// Whatever ends a queue's runner, the suspects of others have their turn.
	for name, tc := range map[string]struct {
		fail    map[string]int
		kept    bool
		crashes int
	}{
		"with an open claim that had brought none":               {fail: map[string]int{"claim": 3}, crashes: 0, kept: true},
		"with an open claim that had brought a suspect":          {fail: map[string]int{"claim": 3}, crashes: 2, kept: true},
		"with an open claim that is never answered":              {fail: map[string]int{"claim": 1 << 30}},
		"with a suspect's end that is given up":                  {fail: map[string]int{"settle": 1 << 30}, crashes: 2},
		"with a suspect whose handler does not return":           {crashes: 2},
		"with a suspect's release that could not be told either": {fail: map[string]int{"settle": 1 << 30}, crashes: 3},
	} {
		t.Run("a queue is dropped "+name, func(t *testing.T) {
			d := &duo{a: &fakeQueue{jobs: []store.Delivery{delivery(1, tc.crashes)}, fail: tc.fail, kept: tc.kept}, b: &fakeQueue{}}
			d.during = func(context.Context) { pass(time.Minute) }
			pair(t, d, slots(20), func() {
				later(100 * time.Millisecond)
				_ = d.drop()
				d.b.mu.Lock()
				d.b.jobs = []store.Delivery{delivery(2, 2)}
				d.b.mu.Unlock()
				if later(2 * time.Hour); d.b.count("settled ack") != 1 {
					t.Error("the suspect of the other queue never ran")
				}
			})
		})
	}
}

func TestTeam_OpenClaim(t *testing.T) {
	t.Run("one that stays open leaves its slots to other queues, and what it brings is given back", func(t *testing.T) {
		d := &duo{a: &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}, fail: map[string]int{"claim": 1 << 30}, kept: true}}
		d.b = &fakeQueue{jobs: []store.Delivery{delivery(3, 2)}} // it needs a slot, and the gate
		pair(t, d, slots(1), func() {
			if later(15 * time.Second); d.b.count("settled ack") != 1 {
				t.Error("nothing ran beside an open claim")
			}
			d.a.away(false)
			if later(2 * time.Second); d.a.count("settled release") != 1 || d.a.count("settled ack") != 0 {
				t.Errorf("%v", d.a.seen())
			}
			d.a.mu.Lock()
			d.a.jobs, d.a.taken = []store.Delivery{delivery(4, 0), delivery(5, 0)}, nil
			d.a.mu.Unlock()
			if later(2 * time.Hour); d.a.count("settled ack") != 2 {
				t.Error("after that it claims no more")
			}
		})
	})
	t.Run("asked for again at a stop it costs a few seconds, not a call after a call", func(t *testing.T) {
		q := &fakeQueue{fail: map[string]int{"claim": 1 << 30, "listen": 1 << 30}, slow: 7 * time.Second}
		onStage(t, q, quick, func(s *stage) {
			later(20 * time.Second)
			began := time.Now()
			_ = s.stop()
			if took := time.Since(began); took > 15*time.Second {
				s.Errorf("the stop of an idle worker took %s", took)
			}
		})
	})
	t.Run("quiet, it is asked for until it is answered", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}, fail: map[string]int{"claim": 6}, kept: true}
		onStage(t, q, quick, func(s *stage) {
			synctest.Wait()
			s.r.Quiet()
			if later(5 * time.Second); q.count("settled release") != 1 {
				s.Errorf("%v", q.seen())
			}
		})
	})
}

func TestTeam_DroppedQueue(t *testing.T) {
	t.Run("a handler that outlasts its queue is told as deaf", func(t *testing.T) {
		var mu sync.Mutex
		deaf := 0
		o := slots(0)
		o.Observe = func(e runner.Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Type == runner.Deaf && e.Queue == "a" {
				deaf++
			}
		}
		d := &duo{a: &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}, b: &fakeQueue{}}
		d.during = func(context.Context) { pass(5 * time.Minute) }
		pair(t, d, o, func() {
			if err := d.drop(); err == nil {
				t.Error("that a handler did not return was not told")
			}
			if later(10 * time.Second); deaf != 1 {
				t.Errorf("told as deaf %d times", deaf)
			}
		})
	})
	t.Run("with the only calls that fail Redis is told to be back, if others go on", func(t *testing.T) {
		var mu sync.Mutex
		var told []runner.EventType
		o := slots(0)
		o.Observe = func(e runner.Event) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, e.Type)
		}
		d := &duo{a: &fakeQueue{fail: map[string]int{"claim": 1 << 30}}, b: &fakeQueue{}}
		pair(t, d, o, func() {
			later(time.Second)
			_ = d.drop()
			synctest.Wait()
			if !slices.Equal(told, []runner.EventType{runner.RedisDown, runner.RedisUp}) {
				t.Errorf("%v", told)
			}
		})
	})
}
