package runner

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// Waits after a call that failed: doubling, with jitter.
const (
	leastWait = 50 * time.Millisecond
	mostWait  = 750 * time.Millisecond // so work goes on within two seconds of Redis being back
	// After an attempt that could not be run the first wait is about a second.
	unableSteps = 4
	mostUnable  = 5 * time.Second
)

// putOff is how long a job waits whose earlier attempt still runs here.
const putOff = time.Second

// lastClaim is what the claim loop keeps of its last claim.
type lastClaim struct {
	number  int64
	grant   Grant
	open    bool      // no answer came, and it may have happened: the same claim is sent again
	suspect bool      // it may bring a suspect: the gate is ours
	sent    time.Time // the first time
	// forsaken: it stayed open so long that others use its slots by now. What it brings is given back.
	forsaken bool
}

// mostOpen is how long an open claim keeps its slots; no longer than a lease, after which its jobs are others'.
const mostOpen = 10 * time.Second

// claimLoop asks for jobs until ctx ends or the runner is to be quiet.
func (r *Runner) claimLoop(ctx, calls, work context.Context) {
	fails := 0
	r.spread = true
	for o := (round{hunger: Probe}); !r.isQuiet(); {
		if n := int(r.unable.Load()); n > 0 {
			r.seat.Rest()
			pause(ctx, backoff(n+unableSteps, mostUnable))
		}
		if r.unsure() && !r.settleDoubt(ctx) {
			return
		}
		if r.last.open {
			r.forsake()
			o.hunger = Resend
		}
		grant, ok := r.await(ctx, o)
		if !ok {
			return
		}
		if ctx.Err() != nil || r.isQuiet() || r.unsure() { // meanwhile
			r.seat.Unanswered(r.last.open)
			continue
		}
		got, err := r.claim(calls, work, grant)
		if err != nil {
			fails++
			r.spread = true
			r.retryPause(ctx, backoff(fails, mostWait))
			o = round{hunger: Probe}
			continue
		}
		fails = 0
		o = r.next(got, grant.Slots)
	}
}

func (r *Runner) isQuiet() bool {
	select {
	case <-r.quiet:
		return true
	default:
		return false
	}
}

// unsure tells that a claim now could take back what is still ours.
func (r *Runner) unsure() bool { return r.doubt() || r.overslept() }

// claim asks for jobs, and starts them. It is not sent under a context that ends before a stop has had its time: a
// claim that is given up would leave jobs leased to nobody.
func (r *Runner) claim(calls, work context.Context, grant Grant) (store.Claimed, error) {
	if !r.last.open {
		r.last = lastClaim{number: r.last.number + 1, grant: grant, sent: time.Now()}
		r.last.suspect = grant.Slots > 0 && !grant.Careful && r.team.suspects.enter(r)
	}
	r.keepCancels()
	defer r.lookAtCancelled()
	began, wall := time.Now(), time.Now().UnixNano()
	got, err := r.sendClaim(calls)
	if err != nil {
		r.seat.Unanswered(r.last.open)
		return got, err
	}
	if long := r.o.Lease * 2 / 3; time.Since(began) > long || time.Duration(time.Now().UnixNano()-wall) > long {
		got.Jobs = r.still(calls, got.Jobs)
	}
	if got.Newer > 0 {
		r.log.Warn("jobs of a newer record format were met and left alone: update this worker", slog.Int64(keyJobs, got.Newer))
	}
	if r.last.forsaken {
		r.seat.Claimed(nil, left(got, 0), got.Again)
		r.giveBack(work, got)
		return got, nil
	}
	r.take(work, got)
	if got.Again && len(got.Jobs) > 0 { // their leases began when the lost answer was made
		r.doubts.Add(1)
		_ = r.renew(calls) // where it fails the doubt remains
	}
	return got, nil
}

// take starts what a claim brought.
func (r *Runner) take(work context.Context, got store.Claimed) {
	attempts := r.brought(work, got)
	kinds := make([]string, len(attempts))
	for i, a := range attempts {
		kinds[i] = a.Rec.Kind
	}
	r.seat.Claimed(kinds, left(got, r.last.grant.Slots), got.Parked > 0 || got.Again)
	r.start(attempts)
}

// still gives those of the jobs of a claim whose leases have not run out before its answer was read: this process, or
// its machine, stood still. Where nobody can tell they are begun.
func (r *Runner) still(calls context.Context, jobs []store.Delivery) []store.Delivery {
	if len(jobs) == 0 {
		return nil
	}
	members := make([]string, len(jobs))
	for i, d := range jobs {
		members[i] = d.Member()
	}
	said, err := r.o.Queue.Renew(calls, r.o.Lease, members)
	r.called("renew", err)
	out := jobs[:0]
	for i, d := range jobs {
		if said[i] != store.Lost {
			out = append(out, d)
		}
	}
	return out
}

// brought makes the attempts of a claim's answer. The gate passes to the suspect among them, or is left.
func (r *Runner) brought(work context.Context, got store.Claimed) []*Attempt {
	out, now := make([]*Attempt, len(got.Jobs)), time.Now()
	for i, d := range got.Jobs {
		out[i] = r.newAttempt(work, d, now)
		if d.Crashes > 1 && r.last.suspect {
			out[i].gated, r.last.suspect = true, false
		}
	}
	r.leaveGate()
	return out
}

// leaveGate opens the gate where the last claim holds it.
func (r *Runner) leaveGate() {
	if r.last.suspect {
		r.last.suspect = false
		r.team.suspects.leave()
	}
}

// forsake lets others have what a claim reserved that stays open for long: its slots, its room, the gate.
func (r *Runner) forsake() {
	if !r.last.open || r.last.forsaken || time.Since(r.last.sent) < min(mostOpen, r.o.Lease) {
		return
	}
	r.last.forsaken, r.last.grant = true, Grant{}
	r.leaveGate()
	r.seat.Forsake()
}

// left tells whether jobs were left for want of slots. What is parked may be of kinds that this worker does not know,
// but as long as claims come back full there may be more of the others.
func left(got store.Claimed, slots int) bool {
	full := slots > 0 && len(got.Jobs) >= slots
	return !got.Paused && (got.Left > 0 || full && got.Parked > 0)
}

// sendClaim sends the last claim; where no answer came it is sent again as it was, which brings the same jobs.
func (r *Runner) sendClaim(ctx context.Context) (store.Claimed, error) {
	got, err := r.o.Queue.Claim(ctx, store.Claim{
		Worker: r.worker, Number: r.last.number, Most: r.last.grant.Slots, Lease: r.o.Lease, Suspect: r.last.suspect,
		Kinds: r.o.Kinds, Room: r.last.grant.short(),
	})
	r.called("claim", err)
	r.last.open = err != nil && (r.last.open || !errors.Is(err, store.ErrUnavailable))
	if err != nil && !r.last.open {
		r.leaveGate()
	}
	return got, err
}

// overslept tells that leases may have run out unnoticed: this process, or its machine, stood still.
// A claim would then take back what is still ours.
func (r *Runner) overslept() bool {
	since := time.Since(r.began) - time.Duration(r.renewed.Load())
	if wall := r.renewedWall.Load(); wall > 0 {
		since = max(since, time.Duration(time.Now().UnixNano()-wall))
	}
	return len(r.members()) > 0 && since > r.o.Lease*2/3
}

// settleDoubt brings order after a call that failed: first what is finished is settled, then leases
// are renewed, and only then may a claim follow, which would take back our own jobs otherwise. False where ctx ended.
func (r *Runner) settleDoubt(ctx context.Context) bool {
	r.seat.Rest()
	for fails := 0; ctx.Err() == nil; fails++ {
		r.forsake()
		if !r.settled(ctx) {
			return false
		}
		if err := r.renew(ctx); err == nil && !r.unsure() {
			return true
		}
		r.retryPause(ctx, backoff(fails, mostWait))
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
	long := time.NewTimer(min(mostOpen, r.o.Lease))
	defer long.Stop()
	for {
		select {
		case <-done:
			return true
		case <-ctx.Done():
			return false
		case <-long.C:
			r.forsake()
		}
	}
}

// called notes what became of a call to Redis.
func (r *Runner) called(call string, err error) {
	if err != nil {
		r.doubts.Add(1)
	}
	r.line.told(call, err)
}

// retryPause waits before a call that failed is tried again: less where Redis answers another call meanwhile.
func (r *Runner) retryPause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-r.team.outage.news():
	}
}

func backoff(fails int, most time.Duration) time.Duration {
	d := min(leastWait<<min(fails, 10), most)
	return d/2 + rand.N(d/2)
}
