package runner

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// heartbeat is how often a runner claims without free slots, so that upkeep goes on and it is seen.
const heartbeat = 10 * time.Second

// Waits after a call that failed: doubling, with jitter.
const (
	leastWait = 50 * time.Millisecond
	mostWait  = 5 * time.Second
	// unableSteps makes the first wait after an attempt that could not be run about a second.
	unableSteps = 4
)

// bell listens for work while a slot is free. At most one listen is under way.
type bell struct {
	rang      chan bool // one answer a listen
	listening bool
	deaf      bool // the queue is paused: a token is of no use to this runner
}

// lastClaim is what the claim loop keeps of its last claim.
type lastClaim struct {
	number  int64
	open    bool // no answer came: the same claim is sent again
	suspect bool // it may bring a suspect: the gate is ours
}

// claimLoop asks for jobs until ctx ends: at once where there may be more and a slot is free, else
// when the bell rings, a timer says that something is due, or a slot becomes free.
func (r *Runner) claimLoop(ctx, calls, work context.Context, b *bell) {
	fails := 0
	for ctx.Err() == nil {
		if n := int(r.unable.Load()); n > 0 {
			pause(ctx, backoff(n+unableSteps))
		}
		if (r.doubt.Load() || r.overslept()) && !r.settleDoubt(ctx) {
			return
		}
		got, err := r.claim(calls, work)
		if err != nil {
			r.failed("claim", err, &fails)
			pause(ctx, backoff(fails))
			continue
		}
		fails = 0
		more := got.Left > 0 && !got.Paused
		if more && r.slots() > 0 {
			continue
		}
		b.deaf = got.Paused
		r.await(ctx, b, r.until(got), more)
	}
}

// claim asks for as many jobs as there are free slots, and starts them. It is not sent under a
// context that can end: a claim that is given up would leave jobs leased to nobody.
func (r *Runner) claim(calls, work context.Context) (store.Claimed, error) {
	got, err := r.sendClaim(calls, r.slots())
	if err != nil {
		return got, err
	}
	took := false
	for _, d := range got.Jobs {
		took = took || d.Crashes > 1
	}
	if r.last.suspect && !took {
		r.o.Suspects.leave()
	}
	if got.Newer > 0 {
		r.log.Warn("jobs of a newer record format were met and left alone: update this worker", slog.Int64(keyJobs, got.Newer))
	}
	for _, d := range got.Jobs {
		r.start(work, d)
	}
	if got.Again && len(got.Jobs) > 0 { // their leases began when the lost answer was made
		if err := r.renew(calls); err != nil {
			r.doubt.Store(true)
		}
	}
	return got, nil
}

// sendClaim sends one claim; where no answer came it sends the same one again, which brings the
// same jobs.
func (r *Runner) sendClaim(ctx context.Context, most int) (store.Claimed, error) {
	if !r.last.open {
		r.last = lastClaim{number: r.last.number + 1, suspect: most > 0 && r.o.Suspects.enter()}
	}
	got, err := r.o.Queue.Claim(ctx, store.Claim{
		Worker: r.worker, Number: r.last.number, Most: most, Lease: r.o.Lease, Suspect: r.last.suspect, Kinds: r.o.Kinds,
	})
	r.last.open = err != nil
	return got, err
}

// overslept tells that leases may have run out unnoticed: this process, or its machine, stood still.
// A claim would then take back what is still ours.
func (r *Runner) overslept() bool {
	since := time.Since(r.began) - time.Duration(r.renewed.Load())
	if wall := r.renewedWall.Load(); wall > 0 {
		since = max(since, time.Duration(time.Now().UnixNano()-wall))
	}
	return since > r.o.Lease*2/3 && len(r.members()) > 0
}

// until is how long nothing needs to be asked: the poll time, or less where an event is known.
func (r *Runner) until(got store.Claimed) time.Duration {
	d := r.o.Poll
	if !got.Next.IsZero() {
		d = max(time.Millisecond, min(d, got.Next.Sub(got.Now)))
	}
	if r.slots() == 0 {
		d = heartbeat
	}
	return d
}

// await returns when it is time for the next claim. more: jobs were left for want of slots.
func (r *Runner) await(ctx context.Context, b *bell, d time.Duration, more bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		if !b.listening && !b.deaf && r.slots() > 0 {
			b.listening = true
			go r.listen(ctx, b)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			return
		case rang := <-b.rang:
			b.listening = false
			if rang && r.slots() > 0 {
				return
			}
			if rang {
				r.ringBack(ctx)
			}
		case <-r.freed:
			if more || d > r.o.Poll || r.doubt.Load() {
				return
			}
		}
	}
}

func (r *Runner) listen(ctx context.Context, b *bell) {
	rang, err := r.o.Queue.Listen(ctx, r.o.Poll)
	if err != nil { // the timer claims meanwhile, and tells
		pause(ctx, r.o.Poll)
	}
	b.rang <- rang
}

// silence waits for the last listen and gives back a token it took.
func (r *Runner) silence(ctx context.Context, b *bell) {
	if b.listening && <-b.rang {
		r.ringBack(ctx)
	}
}

func (r *Runner) ringBack(ctx context.Context) {
	if err := r.o.Queue.Ring(context.WithoutCancel(ctx)); err != nil {
		r.log.Debug("ring back", errorAttr(err)) // the next poll of some worker finds the work
	}
}

// settleDoubt brings order after a call that failed: first what is finished is settled, then leases
// are renewed, and only then may a claim follow, which would take back our own jobs otherwise.
func (r *Runner) settleDoubt(ctx context.Context) bool {
	fails := 0
	for ctx.Err() == nil {
		if !r.settled(ctx) {
			return false
		}
		err := r.renew(ctx)
		if err == nil {
			r.doubt.Store(false)
			return true
		}
		r.failed("renew", err, &fails)
		pause(ctx, backoff(fails))
	}
	return false
}

// settled waits until what is finished is recorded; false where ctx ended first.
func (r *Runner) settled(ctx context.Context) bool {
	done := make(chan struct{})
	go func() { // it ends at the latest when the runner gives up its ends
		r.settler.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// failed tells of a call that failed: the first of a row at once, later ones sparsely.
func (r *Runner) failed(what string, err error, fails *int) {
	r.doubt.Store(true)
	*fails++
	if *fails&(*fails-1) == 0 {
		r.log.Warn("redis call failed; trying again", slog.String(keyCall, what), slog.Int(keyTries, *fails), errorAttr(err))
	}
}

func backoff(fails int) time.Duration {
	d := min(leastWait<<min(fails, 10), mostWait)
	return d/2 + rand.N(d/2)
}
