package runner_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/runner"
	"github.com/waybillhq/waybill/internal/store"
)

var errAway = errors.New("redis is away")

// fakeQueue answers from scripts and keeps a list of calls. Time is the bubble's.
type fakeQueue struct {
	mu     sync.Mutex
	calls  []string
	claims []store.Claim
	jobs   []store.Delivery // what the next claims bring, one each
	fail   map[string]int   // how often a call still fails
	kept   bool             // a failed claim took its job all the same
	taken  []store.Delivery // by the claim that got no answer
	rings  int
	lost   map[string]store.Verdict // what renew and progress say of a job, by ID; else it is held
	frozen bool                     // calls wait until their context ends
	slow   time.Duration            // how long a call takes that fails
	during func(call string)        // while a call is under way
	next   time.Time                // what claims say of it
	told   []store.Effects          // with each end that was sent, answered or not
}

// sent notes a call and what it is about, and waits where the queue is frozen.
func (q *fakeQueue) sent(ctx context.Context, call string) error {
	q.mu.Lock()
	frozen, during := q.frozen, q.during
	q.mu.Unlock()
	if frozen {
		<-ctx.Done()
		return ctx.Err()
	}
	if during != nil {
		during(call)
	}
	err := q.note(call)
	if err != nil {
		pass(q.slow)
	}
	return err
}

func (q *fakeQueue) note(call string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calls = append(q.calls, call)
	if q.fail[call] > 0 {
		q.fail[call]--
		return errAway
	}
	return nil
}

func (q *fakeQueue) Claim(ctx context.Context, c store.Claim) (store.Claimed, error) {
	err := q.sent(ctx, "claim")
	q.mu.Lock()
	defer q.mu.Unlock()
	again := len(q.claims) > 0 && q.claims[len(q.claims)-1].Number == c.Number
	q.claims = append(q.claims, c)
	out := store.Claimed{Now: time.Now(), Next: q.next}
	if !q.next.After(out.Now) {
		out.Next = time.Time{}
	}
	if again {
		out.Jobs = q.taken
	} else if len(q.jobs) > 0 && c.Most > 0 && (q.jobs[0].Crashes < 2 || c.Suspect) {
		out.Jobs, q.jobs = q.jobs[:1], q.jobs[1:]
		for _, d := range q.jobs {
			if d.Crashes < 2 { // no claim tells how many suspects there are
				out.Left++
			}
		}
	}
	if err != nil {
		if q.taken = out.Jobs; !q.kept && len(out.Jobs) > 0 {
			q.jobs, q.taken = append(q.taken, q.jobs...), nil
		}
		return store.Claimed{}, err
	}
	return out, nil
}

func (q *fakeQueue) Settle(ctx context.Context, items []store.Settlement) ([]store.Verdict, error) {
	out := make([]store.Verdict, len(items))
	q.mu.Lock()
	for _, it := range items {
		q.told = append(q.told, it.Effects)
	}
	q.mu.Unlock()
	if err := q.sent(ctx, "settle"); err != nil {
		return out, err
	}
	for i, it := range items {
		out[i] = store.Done
		_ = q.note("settled " + string(it.End))
	}
	return out, nil
}

func (q *fakeQueue) Renew(ctx context.Context, _ time.Duration, members []string) ([]store.Verdict, error) {
	out := make([]store.Verdict, len(members))
	if err := q.sent(ctx, "renew"); err != nil {
		return out, err
	}
	for i, m := range members {
		out[i] = q.verdict(m)
	}
	return out, nil
}

// verdict is what is said of a lease.
func (q *fakeQueue) verdict(member string) store.Verdict {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, v := range q.lost {
		if strings.HasSuffix(member, id) {
			return v
		}
	}
	return store.Held
}

// say sets what is said of a job's lease from now on.
func (q *fakeQueue) say(id string, v store.Verdict) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost = map[string]store.Verdict{id: v}
}

func (q *fakeQueue) Progress(_ context.Context, member string, percent int, note string) (store.Verdict, error) {
	return q.verdict(member), q.note(fmt.Sprintf("progress %d %s", percent, note))
}

func (q *fakeQueue) Listen(ctx context.Context, names []string, d time.Duration) (string, error) {
	q.mu.Lock()
	ring := q.rings > 0
	if ring {
		q.rings--
	}
	q.mu.Unlock()
	if !ring {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	if err := q.note("listen"); err != nil || !ring {
		return "", err
	}
	return names[0], nil
}

func (q *fakeQueue) Lease(context.Context) (time.Duration, error) {
	return 4 * time.Second, q.note("lease")
}

func (q *fakeQueue) Ring(context.Context) error { return q.note("ring") }

func (q *fakeQueue) seen() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.calls)
}

func (q *fakeQueue) count(call string) int {
	n := 0
	for _, c := range q.seen() {
		if c == call {
			n++
		}
	}
	return n
}

func delivery(n, crashes int) store.Delivery {
	head := record.Head{Seq: uint64(n)}
	raw := fmt.Appendf(nil, "1%s%011x", head, 1)
	id := fmt.Sprintf("j%d", n)
	return store.Delivery{
		ID: id, Token: fmt.Sprintf("1-w.%d", n), Element: head.Element(id), Attempt: 1, Crashes: crashes,
		Record: append(raw, record.Job{Kind: "k"}.Blob()...),
	}
}

// bubble runs a runner on a fake queue in fake time until body returns.
func bubble(t *testing.T, q *fakeQueue, concurrency int, h func(context.Context, *runner.Attempt) error, body func()) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := options("q", q, concurrency)
		o.Handle = func(ctx context.Context, a *runner.Attempt) ([]byte, error) { return nil, h(ctx, a) }
		team := runner.NewTeam(runner.TeamOptions{Slots: runner.SlotsOptions{Total: concurrency}, Listener: q})
		_, stop := run(t, team, o)
		body()
		if err := stop(); err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

// options of a runner that a test changes.
func options(name string, q runner.Queue, concurrency int) runner.Options {
	return runner.Options{
		Name: name, Queue: q, Concurrency: concurrency, Lease: 30 * time.Second, Grace: time.Minute,
		Policy: func(string) runner.Policy {
			return runner.Policy{Retry: func(int, error) time.Duration { return time.Second }}
		},
		Handle: func(context.Context, *runner.Attempt) ([]byte, error) { return nil, nil },
	}
}

// run runs a team with runners until stop, which waits for all of it.
func run(t *testing.T, team *runner.Team, o ...runner.Options) (runners []*runner.Runner, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	watch, enough := context.WithCancel(t.Context())
	errs := make(chan error, len(o))
	var watching sync.WaitGroup
	watching.Go(func() { team.Run(watch) })
	for _, each := range o {
		r := team.Runner(each)
		runners = append(runners, r)
		go func() { errs <- r.Run(ctx) }()
	}
	return runners, func() error {
		cancel()
		var all error
		for range o {
			all = errors.Join(all, <-errs)
		}
		enough()
		watching.Wait()
		return all
	}
}

func quick(context.Context, *runner.Attempt) error { return nil }

func after(d time.Duration) func(context.Context, *runner.Attempt) error {
	return func(context.Context, *runner.Attempt) error {
		<-time.After(d)
		return nil
	}
}

func pass(d time.Duration) { <-time.After(d) }

// later is the time after d, when all else waits.
func later(d time.Duration) {
	pass(d)
	synctest.Wait()
}

func TestRunner_AfterAnOutage(t *testing.T) {
	t.Run("it settles, then renews, then claims", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0), delivery(2, 0)}, fail: map[string]int{"settle": 5, "renew": 2}}
		bubble(t, q, 2, func(ctx context.Context, a *runner.Attempt) error {
			if a.ID == "j1" { // it ends when both run; the other goes on
				pass(time.Millisecond)
				return nil
			}
			return after(time.Minute)(ctx, a)
		}, func() { pass(20 * time.Second) })
		calls := q.seen()
		settled := slices.Index(calls, "settled ack")
		renewed := settled + slices.Index(calls[settled:], "renew")
		claimed := settled + slices.Index(calls[settled:], "claim")
		if settled < 5 || renewed > claimed {
			t.Errorf("settled at %d, renewed at %d, claimed at %d of %v", settled, renewed, claimed, calls)
		}
		failed := slices.Index(calls, "settle")
		if n := slices.Index(calls[failed:settled], "claim"); n > 1 {
			t.Errorf("it claimed while an end was not recorded: %v", calls[failed:settled])
		}
	})
	t.Run("it waits longer from try to try, and tries on", func(t *testing.T) {
		q := &fakeQueue{fail: map[string]int{"claim": 1 << 30}}
		bubble(t, q, 1, quick, func() { pass(10 * time.Minute) })
		if n := q.count("claim"); n < 800 || n > 1800 {
			t.Errorf("%d claims in ten minutes", n)
		}
	})
}

func TestRunner_LostClaimAnswer(t *testing.T) {
	t.Run("the same claim is sent again and its job runs once", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}, fail: map[string]int{"claim": 2}, kept: true}
		bubble(t, q, 1, quick, func() { pass(5 * time.Second) })
		if q.claims[0].Number != q.claims[1].Number || q.claims[1].Number != q.claims[2].Number {
			t.Errorf("numbers %d, %d, %d", q.claims[0].Number, q.claims[1].Number, q.claims[2].Number)
		}
		if n := q.count("settled ack"); n != 1 {
			t.Errorf("settled %d times", n)
		}
	})
	t.Run("a stop gives back what it may have brought", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}, fail: map[string]int{"claim": 1}, kept: true}
		bubble(t, q, 1, quick, synctest.Wait)
		last := q.claims[len(q.claims)-1]
		if q.count("settled release") != 1 || last.Most != 0 || last.Number != q.claims[0].Number {
			t.Errorf("calls %v, last claim %+v", q.seen(), last)
		}
	})
}

func TestRunner_Suspects(t *testing.T) {
	q := &fakeQueue{jobs: []store.Delivery{delivery(1, 2), delivery(2, 2), delivery(3, 3)}}
	running, most := 0, 0
	bubble(t, q, 5, func(context.Context, *runner.Attempt) error {
		running++
		most = max(most, running)
		pass(3 * time.Second)
		running--
		return nil
	}, func() { pass(30 * time.Second) })
	if most != 1 || q.count("settled ack") != 3 {
		t.Errorf("%d suspects at a time, %d settled", most, q.count("settled ack"))
	}
}

func TestRunner_Unable(t *testing.T) {
	var jobs []store.Delivery
	for i := range 1000 {
		jobs = append(jobs, delivery(i+1, 0))
	}
	q := &fakeQueue{jobs: jobs}
	bubble(t, q, 1, func(context.Context, *runner.Attempt) error {
		return &runner.Steer{End: runner.Release, Err: errors.New("command not found")}
	}, func() { pass(time.Minute) })
	if n := q.count("settled release"); n < 5 || n > 100 {
		t.Errorf("%d jobs claimed and given back in a minute", n)
	}
	if n := q.count("settled retry") + q.count("settled dead"); n != 0 {
		t.Errorf("%d jobs failed for what they can't help", n)
	}
}

func TestRunner_Bell(t *testing.T) {
	t.Run("it does not listen without a free slot, and claims by heartbeat", func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}
		bubble(t, q, 1, after(time.Minute), func() { pass(59 * time.Second) })
		if n := q.count("listen"); n > 1 {
			t.Errorf("listened %d times", n)
		}
		if n := q.count("claim"); n < 5 || n > 9 {
			t.Errorf("%d claims", n)
		}
	})
	t.Run("idle, it asks about twice a second", func(t *testing.T) {
		q := &fakeQueue{}
		bubble(t, q, 1, quick, func() { pass(time.Minute) })
		if n := len(q.seen()); n < 100 || n > 140 {
			t.Errorf("%d calls in a minute", n)
		}
	})
	t.Run("it claims at once when the bell rings", func(t *testing.T) {
		q := &fakeQueue{}
		bubble(t, q, 1, quick, func() {
			pass(10*time.Second + time.Millisecond)
			q.mu.Lock()
			q.rings, q.jobs = 1, []store.Delivery{delivery(1, 0)}
			q.mu.Unlock()
			pass(time.Second)
			if q.count("settled ack") != 1 {
				t.Error("the job did not run")
			}
		})
	})
}

func TestRunner_RenewsAtAThirdOfTheLease(t *testing.T) {
	q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}}
	bubble(t, q, 1, after(95*time.Second), func() { pass(94 * time.Second) })
	if n := q.count("renew"); n != 9 {
		t.Errorf("%d renewals in 94 s of a lease of 30 s", n)
	}
}

func TestRunner_LeaseOfTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}, fail: map[string]int{"lease": 3}}
		o := options("q", q, 1)
		o.Lease = 0
		o.Handle = func(ctx context.Context, a *runner.Attempt) ([]byte, error) {
			return nil, after(30*time.Second)(ctx, a)
		}
		team := runner.NewTeam(runner.TeamOptions{Slots: runner.SlotsOptions{Total: 1}, Listener: q})
		_, stop := run(t, team, o)
		later(13 * time.Second) // a lease of 4 s, after three calls that fail
		if asked, n := q.count("lease"), q.count("renew"); asked != 4 || n < 7 || n > 9 {
			t.Errorf("asked %d times, %d renewals in 13 s of a lease of 4 s", asked, n)
		}
		q.mu.Lock()
		claimed := q.claims[0].Lease
		q.mu.Unlock()
		if err := stop(); err != nil || claimed != 4*time.Second {
			t.Errorf("claimed for %s, %v", claimed, err)
		}
	})
}

type typedError struct{ text string }

func (e *typedError) Error() string { return e.text } // panics where e is nil

func TestRunner_UserCodeThatFailsItself(t *testing.T) {
	for name, h := range map[string]func(context.Context, *runner.Attempt) error{
		"an error that panics when asked is a failure": func(context.Context, *runner.Attempt) error {
			var e *typedError
			return e
		},
		"a handler that ends its goroutine has failed": func(context.Context, *runner.Attempt) error {
			runtime.Goexit()
			return nil
		},
		"a panic is a failure": func(context.Context, *runner.Attempt) error { panic("oh") },
	} {
		t.Run(name, func(t *testing.T) {
			q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0), delivery(2, 0)}}
			bubble(t, q, 1, h, func() { pass(10 * time.Second) })
			if n := q.count("settled retry"); n != 2 {
				t.Errorf("%d failures recorded of two", n)
			}
		})
	}
}

func TestRunner_StopsInItsTime(t *testing.T) {
	for name, fail := range map[string]map[string]int{
		"while ends can't be recorded":       {"settle": 1 << 30},
		"while no call is answered any more": {"settle": 1 << 30, "claim": 1 << 30, "renew": 1 << 30, "listen": 1 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0), delivery(2, 0)}}
				o := options("q", q, 2)
				o.Grace = 20 * time.Second
				o.Handle = func(ctx context.Context, a *runner.Attempt) ([]byte, error) {
					if a.ID == "j2" {
						<-ctx.Done()
						return nil, context.Cause(ctx)
					}
					return nil, nil
				}
				_, stop := run(t, runner.NewTeam(runner.TeamOptions{Slots: runner.SlotsOptions{Total: 2}, Listener: q}), o)
				pass(100 * time.Millisecond) // both were claimed
				q.mu.Lock()
				q.fail = fail
				q.jobs = nil
				q.mu.Unlock()
				pass(10 * time.Second)
				asked := time.Now()
				if err := stop(); err == nil && q.count("settled release") == 0 {
					t.Error("an end that is not recorded was not told")
				}
				if took := time.Since(asked); took > 30*time.Second {
					t.Errorf("the stop took %s with a grace of 20 s", took)
				}
			})
		})
	}
}

func TestRunner_DueWhileFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0)}, next: time.Now().Add(time.Second)}
		o := options("q", q, 1)
		o.Handle = func(ctx context.Context, a *runner.Attempt) ([]byte, error) {
			return nil, after(300*time.Millisecond)(ctx, a)
		}
		_, stop := run(t, runner.NewTeam(runner.TeamOptions{Slots: runner.SlotsOptions{Total: 1}, Listener: q, Poll: time.Hour}), o)
		later(100 * time.Millisecond)
		q.mu.Lock()
		q.jobs = []store.Delivery{delivery(2, 0)}
		q.mu.Unlock()
		if later(1300 * time.Millisecond); q.count("settled ack") != 2 {
			t.Errorf("what came due after the slot was free has not run: %v", q.seen())
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestRunner_Nudge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &fakeQueue{}
		o := options("q", q, 1)
		runners, stop := run(t, runner.NewTeam(runner.TeamOptions{Slots: runner.SlotsOptions{Total: 1}, Listener: newBells(), Poll: time.Hour}), o)
		later(2 * time.Second)
		before := q.count("claim")
		for range 3 {
			runners[0].Nudge()
		}
		synctest.Wait()
		if n := q.count("claim") - before; n < 1 || n > 3 {
			t.Errorf("%d looks", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestRunner_LateClaimAnswer(t *testing.T) {
	q := &fakeQueue{jobs: []store.Delivery{delivery(1, 0), delivery(2, 0)}, lost: map[string]store.Verdict{"j1": store.Lost}}
	q.during = func(call string) {
		if call == "claim" && q.count("claim") == 0 {
			pass(25 * time.Second)
		}
	}
	var ran []string
	bubble(t, q, 1, func(_ context.Context, a *runner.Attempt) error {
		ran = append(ran, a.ID)
		return nil
	}, func() { pass(40 * time.Second) })
	if !slices.Equal(ran, []string{"j2"}) {
		t.Errorf("ran %v: the lease of j1 was another's when the answer was read", ran)
	}
}
