package runner_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/runner"
	"github.com/waybillhq/waybill/internal/store"
)

// stage is one runner on a fake queue, with what it tells.
type stage struct {
	*testing.T
	q    *fakeQueue
	r    *runner.Runner
	stop func() error
	log  bytes.Buffer

	mu     sync.Mutex
	events []runner.Event
}

// onStage runs a runner with a grace of ten seconds in fake time, and gives its stage to body.
func onStage(t *testing.T, q *fakeQueue, h func(context.Context, *runner.Attempt) error, body func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{T: t, q: q}
		o := options("q", q, 5)
		o.Grace = 10 * time.Second
		o.Handle = func(ctx context.Context, a *runner.Attempt) ([]byte, error) { return nil, h(ctx, a) }
		team := runner.NewTeam(runner.TeamOptions{
			Slots: runner.SlotsOptions{Total: 5}, Listener: q,
			Log: slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelInfo})),
			Observe: func(e runner.Event) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.events = append(s.events, e)
			},
		})
		runners, stop := run(t, team, o)
		s.r = runners[0]
		var err error
		s.stop = sync.OnceValue(func() error {
			err = stop()
			return err
		})
		body(s)
		_ = s.stop()
		later(3 * time.Minute) // handlers may outlast it
	})
}

// told gives the events of a type.
func (s *stage) told(which runner.EventType) []runner.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []runner.Event
	for _, e := range s.events {
		if e.Type == which {
			out = append(out, e)
		}
	}
	return out
}

// logged counts the lines with a text.
func (s *stage) logged(text string) int { return strings.Count(s.log.String(), text) }

// stubborn goes on for a time, whatever its context says.
func stubborn(d time.Duration) func(context.Context, *runner.Attempt) error { return after(d) }

func TestRunner_Deaf(t *testing.T) {
	t.Run("a handler that goes on after its lease is lost is told once, and keeps its slot", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}
		onStage(t, q, stubborn(time.Minute), func(s *stage) {
			later(time.Second)
			q.say("j1", store.Lost)
			later(13 * time.Second) // the renewal at 10 s tells
			if is := s.r.Running(); len(is) != 1 || is[0].Deaf {
				s.Errorf("3 s after its context ended: %+v", is)
			}
			later(5 * time.Second)
			if is := s.r.Running(); len(is) != 1 || !is[0].Deaf {
				s.Errorf("8 s after its context ended: %+v", is)
			}
			later(20 * time.Second)
			if n := len(s.told(runner.Deaf)); n != 1 || s.logged("does not return") != 1 {
				s.Errorf("told %d times, logged %d", n, s.logged("does not return"))
			}
			if e := s.told(runner.Deaf)[0]; !errors.Is(e.Err, runner.ErrLeaseLost) || e.Took < 5*time.Second || e.Took > 7*time.Second {
				s.Errorf("%+v", e)
			}
			if n := len(s.told(runner.LeaseLost)); n != 1 || s.logged(`msg="lease lost"`) != 1 {
				s.Errorf("the loss was told %d times, logged %d", n, s.logged("lease lost"))
			}
		})
	})
	t.Run("one that never looked at its context and whose timeout is over is deaf too", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}
			o := options("q", q, 1)
			o.Policy = func(string) runner.Policy {
				return runner.Policy{Timeout: time.Second, Retry: func(int, error) time.Duration { return 0 }}
			}
			o.Handle = func(ctx context.Context, a *runner.Attempt) ([]byte, error) {
				return nil, stubborn(20*time.Second)(ctx, a)
			}
			runners, stop := run(t, runner.NewTeam(runner.TeamOptions{Slots: runner.SlotsOptions{Total: 1}, Listener: q}), o)
			later(8 * time.Second)
			if is := runners[0].Running(); len(is) != 1 || !is[0].Deaf {
				t.Errorf("%+v", is)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("no second copy starts beside it: the job is put off, again and again", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}
		starts := 0
		onStage(t, q, func(ctx context.Context, a *runner.Attempt) error {
			starts++
			return stubborn(10*time.Second)(ctx, a)
		}, func(s *stage) {
			later(time.Second)
			again := delivery(1, 1)
			again.Token, again.Attempt = "2-w.9", 2
			q.mu.Lock()
			q.jobs = []store.Delivery{again}
			q.mu.Unlock()
			later(2 * time.Second)
			if starts != 1 || q.count("settled snooze") != 1 || len(s.told(runner.PutOff)) != 1 || s.logged("still runs here") != 1 {
				s.Errorf("%d starts, calls %v", starts, q.seen())
			}
			later(10 * time.Second) // the first has ended
			third := again
			third.Token, third.Attempt = "3-w.10", 3
			q.mu.Lock()
			q.jobs = []store.Delivery{third}
			q.mu.Unlock()
			later(2 * time.Second)
			if starts != 2 {
				s.Errorf("after the first had ended: %d starts", starts)
			}
		})
	})
}

// A queue that is dropped and added again has another runner.
func TestTeam_NoSecondCopyBesideAnEarlierRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}
		team := runner.NewTeam(runner.TeamOptions{Slots: runner.SlotsOptions{Total: 5}, Listener: q})
		var mu sync.Mutex
		starts := 0
		o := options("q", q, 5)
		o.Grace = time.Second
		o.Handle = func(ctx context.Context, a *runner.Attempt) ([]byte, error) {
			mu.Lock()
			starts++
			mu.Unlock()
			return nil, stubborn(time.Minute)(ctx, a)
		}
		watch, enough := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { team.Run(watch) })
		for range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			ended, r := make(chan error, 1), team.Runner(o)
			go func() { ended <- r.Run(ctx) }()
			later(2 * time.Second)
			cancel()
			if err := <-ended; (err != nil) != (r.Running() != nil) { // the first one's handler does not return
				t.Errorf("%v, still running: %v", err, r.Running())
			}
			q.mu.Lock()
			q.jobs = []store.Delivery{delivery(1, 0)}
			q.mu.Unlock()
		}
		enough()
		all.Wait()
		mu.Lock()
		defer mu.Unlock()
		if starts != 1 || q.count("settled snooze") != 1 {
			t.Errorf("%d starts, %v", starts, q.seen())
		}
		pass(2 * time.Minute)
	})
}

func TestRunner_ContextOfAnAttempt(t *testing.T) {
	t.Run("it ends with the cause, also where it is first looked at after that", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}
		var cause, err error
		onStage(t, q, func(ctx context.Context, _ *runner.Attempt) error {
			pass(15 * time.Second)
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			<-child.Done()
			cause, err = context.Cause(child), ctx.Err()
			return nil
		}, func(s *stage) {
			later(time.Second)
			q.say("j1", store.CancelledNow)
			later(20 * time.Second)
			if !errors.Is(cause, runner.ErrCancelled) || !errors.Is(err, context.Canceled) {
				s.Errorf("cause %v, error %v", cause, err)
			}
		})
	})
	t.Run("it has ended when the handler has returned", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0), delivery(2, 0)}}
		var mu sync.Mutex
		var kept []context.Context
		onStage(t, q, func(ctx context.Context, a *runner.Attempt) error {
			if a.ID == "j1" {
				_ = ctx.Done() // the other one is first looked at later
			}
			mu.Lock()
			defer mu.Unlock()
			kept = append(kept, ctx)
			return nil
		}, func(s *stage) {
			later(time.Second)
			for _, ctx := range kept {
				if ctx.Err() == nil {
					s.Error("it goes on")
				}
			}
			if len(kept) != 2 {
				s.Errorf("%d of 2 ran", len(kept))
			}
		})
	})
}

func TestRunner_Look(t *testing.T) {
	q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0), delivery(2, 0)}}
	var cause error
	onStage(t, q, func(ctx context.Context, a *runner.Attempt) error {
		if a.ID == "j2" {
			return after(20*time.Second)(ctx, a)
		}
		<-ctx.Done()
		cause = context.Cause(ctx)
		return cause
	}, func(s *stage) {
		later(2 * time.Second)
		q.say("j1", store.CancelledNow)
		before := q.count("renew")
		s.r.Look("j1")
		s.r.Look("unknown")
		synctest.Wait()
		if !errors.Is(cause, runner.ErrCancelled) || q.count("settled release") != 1 {
			s.Errorf("at once: cause %v, %v", cause, q.seen())
		}
		if n := q.count("renew") - before; n != 1 {
			s.Errorf("%d calls for one job that runs here and one that does not", n)
		}
	})
}

func TestRunner_LookBeforeTheClaimIsAnswered(t *testing.T) {
	q := &fakeQueue{}
	var cause error
	onStage(t, q, func(ctx context.Context, _ *runner.Attempt) error {
		<-ctx.Done()
		cause = context.Cause(ctx)
		return cause
	}, func(s *stage) {
		later(time.Second)
		q.mu.Lock()
		q.jobs = []store.Delivery{delivery(1, 0)}
		q.during = func(call string) {
			if call == "claim" {
				q.say("j1", store.CancelledNow)
				s.r.Look("j1")
				s.r.Look("another's")
			}
		}
		q.mu.Unlock()
		if later(time.Second); !errors.Is(cause, runner.ErrCancelled) {
			s.Errorf("a cancel that was told while the claim was under way was not heard: %v", q.seen())
		}
	})
}

func TestAttempt_Progress(t *testing.T) {
	try := func(t *testing.T, verdict store.Verdict, percent int, note string) (q *fakeQueue, cause, err error) {
		t.Helper()
		q = &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}
		onStage(t, q, func(ctx context.Context, a *runner.Attempt) error {
			q.say("j1", verdict)
			err = a.Progress(ctx, percent, note)
			cause = context.Cause(ctx)
			return nil
		}, func(*stage) { later(time.Second) })
		return q, cause, err
	}
	t.Run("what is told is sent", func(t *testing.T) {
		if q, cause, err := try(t, store.Held, 40, "half of it"); err != nil || cause != nil || q.count("progress 40 half of it") != 1 {
			t.Errorf("%v, cause %v, %v", err, cause, q.seen())
		}
	})
	t.Run("a lost lease is told, and ends the context", func(t *testing.T) {
		if _, cause, err := try(t, store.Lost, 40, ""); !errors.Is(err, runner.ErrLeaseLost) || !errors.Is(cause, runner.ErrLeaseLost) {
			t.Errorf("%v, cause %v", err, cause)
		}
	})
	t.Run("a cancel is told, and ends the context", func(t *testing.T) {
		if _, cause, err := try(t, store.CancelledNow, 40, ""); !errors.Is(err, runner.ErrCancelled) || !errors.Is(cause, runner.ErrCancelled) {
			t.Errorf("%v, cause %v", err, cause)
		}
	})
	for name, in := range map[string]struct {
		percent int
		note    string
	}{
		"below 0":          {percent: -1},
		"above 100":        {percent: 101},
		"a note too long":  {note: strings.Repeat("x", 1025)},
		"two lines":        {note: "a\nb"},
		"a note not UTF-8": {note: "\xff"},
	} {
		t.Run("refused before anything is sent: "+name, func(t *testing.T) {
			q, _, err := try(t, store.Held, in.percent, in.note)
			var input *record.InputError
			if !errors.As(err, &input) || strings.Contains(strings.Join(q.seen(), " "), "progress") {
				t.Errorf("%v, %v", err, q.seen())
			}
		})
	}
}

// brokenLog panics at each line.
type brokenLog struct{ slog.Handler }

func (brokenLog) Enabled(context.Context, slog.Level) bool { return true }

func (brokenLog) Handle(context.Context, slog.Record) error { panic("log") }

func (b brokenLog) WithAttrs([]slog.Attr) slog.Handler { return b }

func TestRunner_Events(t *testing.T) {
	t.Run("an attempt's begin and end are told, with what Redis said", func(t *testing.T) {
		boom := errors.New("boom")
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}
		onStage(t, q, func(context.Context, *runner.Attempt) error {
			pass(3 * time.Second)
			return boom
		}, func(s *stage) {
			later(5 * time.Second)
			if got := s.told(runner.Started); len(got) != 1 || got[0].ID != "j1" || got[0].Queue != "q" || got[0].Kind != "k" || got[0].Number != 1 {
				s.Errorf("begin: %+v", got)
			}
			got := s.told(runner.Ended)
			if len(got) != 1 || got[0].Outcome != runner.Retry || got[0].Took != 3*time.Second || !errors.Is(got[0].Err, boom) || !got[0].Recorded {
				s.Errorf("end: %+v", got)
			}
		})
	})
	t.Run("an observer that panics harms nothing, and is told once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0), delivery(2, 0)}}
			_, stop := run(t, runner.NewTeam(runner.TeamOptions{
				Slots: runner.SlotsOptions{Total: 1}, Listener: q, Log: slog.New(slog.NewTextHandler(&log, nil)),
				Observe: func(runner.Event) { panic("oh") },
			}), options("q", q, 1))
			later(time.Second)
			if err := stop(); err != nil || q.count("settled ack") != 2 || strings.Count(log.String(), "observer panicked") != 1 {
				t.Errorf("%v, %v, %s", err, q.seen(), log.String())
			}
		})
	})
	t.Run("an observer that ends its goroutine harms nothing either", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0), delivery(2, 0)}}
			_, stop := run(t, runner.NewTeam(runner.TeamOptions{
				Slots: runner.SlotsOptions{Total: 1}, Listener: q, Observe: func(runner.Event) { runtime.Goexit() },
			}), options("q", q, 1))
			later(time.Second)
			if err := stop(); err != nil || q.count("settled ack") != 2 {
				t.Errorf("%v, %v", err, q.seen())
			}
		})
	})
	t.Run("a handler or a policy that fails itself is told and logged as what it is", func(t *testing.T) {
		for name, h := range map[string]func(context.Context, *runner.Attempt) error{
			"goexit": func(context.Context, *runner.Attempt) error {
				pass(2 * time.Second)
				runtime.Goexit()
				return nil
			},
			"error": func(context.Context, *runner.Attempt) error {
				pass(2 * time.Second)
				var e *typedError
				return e
			},
		} {
			q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}
			onStage(t, q, h, func(s *stage) {
				later(5 * time.Second)
				got := s.told(runner.Ended)
				if len(got) != 1 || got[0].Err == nil || got[0].Took != 2*time.Second || s.logged("attempt ended") != 1 {
					s.Errorf("%s: %+v\n%s", name, got, s.log.String())
				}
			})
		}
	})
	t.Run("a log that panics costs no end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}
			o := options("q", q, 1)
			o.Handle = func(context.Context, *runner.Attempt) ([]byte, error) { return nil, errors.New("oh") }
			_, stop := run(t, runner.NewTeam(runner.TeamOptions{
				Slots: runner.SlotsOptions{Total: 1}, Listener: q, Log: slog.New(brokenLog{slog.DiscardHandler}),
			}), o)
			later(time.Second)
			if err := stop(); err != nil || q.count("settled retry") != 1 {
				t.Errorf("%v, %v", err, q.seen())
			}
		})
	})
	t.Run("after the end nothing is told of the lease", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}
		var kept *runner.Attempt
		onStage(t, q, func(_ context.Context, a *runner.Attempt) error {
			kept = a
			return nil
		}, func(s *stage) {
			later(time.Second)
			q.say("j1", store.Lost)
			if err := kept.Check(s.Context()); !errors.Is(err, runner.ErrLeaseLost) {
				s.Errorf("check: %v", err)
			}
			if n := len(s.told(runner.LeaseLost)); n != 0 || s.logged("lease lost") != 0 {
				s.Errorf("told %d times\n%s", n, s.log.String())
			}
		})
	})
}
