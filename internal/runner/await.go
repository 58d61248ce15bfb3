package runner

import (
	"context"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// heartbeat is how often a runner claims without free slots, so that upkeep goes on and it is seen.
const heartbeat = 10 * time.Second

// inHand is how long a token is kept while the claim for it waits for its turn.
const inHand = 50 * time.Millisecond

// round is one wait of the claim loop for its next claim.
type round struct {
	hunger Hunger        // the reason to claim at once; Sated = none
	after  time.Duration // when to look again all the same; 0 = at the next heartbeat
	paused bool          // the queue is: a token of its bell is of no use
}

// next is what follows a claim's answer.
func (r *Runner) next(got store.Claimed, slots int) round {
	d := r.team.pollTime()
	if d -= rand.N(d / 8); r.spread { // or many queues would be looked at in the same moment
		d, r.spread = 1+rand.N(d), false
	}
	if !got.Next.IsZero() {
		d = max(time.Millisecond, min(d, got.Next.Sub(got.Now)))
	}
	out := round{after: d, paused: got.Paused}
	if left(got, slots) {
		out.hunger = Hungry
	}
	return out
}

// vigil is a round while it waits.
type vigil struct {
	r      *Runner
	deaf   bool             // the bell is not listened for: there is a reason to claim already, or the queue is paused
	full   bool             // no slot of the queue was free at the begin
	looked bool             // the timer has fired before
	give   <-chan time.Time // when the bell's token in hand is given back; nil: none is
	look   *time.Timer
	until  time.Time // when the next look is to be, once there is a slot for it
}

// await returns when it is time for the next claim, and what that may bring: at once where there may be more and a
// slot is free, else when the bell rings, when a timer says that something is due, or when a slot becomes free. False
// where no more claims are to be made.
func (r *Runner) await(ctx context.Context, o round) (Grant, bool) {
	v := &vigil{r: r, deaf: o.paused || o.hunger > Sated, full: r.seat.Free() <= 0}
	switch v.until = time.Now().Add(o.after); {
	case o.after == 0:
		o.after, v.until = heartbeat, v.until.Add(r.team.pollTime())
	case v.full:
		o.after = heartbeat
	}
	v.look = time.NewTimer(o.after)
	defer v.look.Stop()
	r.seat.Wait(o.hunger)
	for {
		if !v.deaf && r.seat.Free() > 0 {
			r.ear.Want(ctx)
		}
		select {
		case <-ctx.Done():
			r.seat.Withdraw()
			return v.end(ctx, Grant{}), false
		case <-r.quiet:
			r.seat.Withdraw()
			return v.end(ctx, Grant{}), false
		case <-r.seat.Called():
			runtime.Gosched() // handlers may be about to free more slots
			if g, ok := r.seat.Take(); ok {
				return v.end(ctx, g), true
			}
		case <-r.ear.Heard():
			v.heard(ctx)
		case <-v.give:
			v.giveBack(ctx)
		case <-v.look.C:
			v.due()
		case <-r.nudged:
			r.seat.Ask(Probe)
		case <-r.freed:
			v.freed()
		}
	}
}

// heard asks for the claim that the bell rings for. Where no slot is free somebody else may have one.
func (v *vigil) heard(ctx context.Context) {
	v.deaf, v.give = true, time.After(inHand)
	if !v.r.seat.Ask(Hungry) {
		v.giveBack(ctx)
	}
}

func (v *vigil) giveBack(ctx context.Context) {
	v.give = nil
	v.r.ear.ringBack(ctx)
}

// due asks for a look, and later, where there was no slot for one, for upkeep.
func (v *vigil) due() {
	v.deaf = true
	if v.full || v.looked {
		v.r.seat.Upkeep()
	} else {
		v.r.seat.Ask(Probe)
	}
	v.looked = true
	v.look.Reset(heartbeat)
}

// freed sets the timer, which was that of a runner without slots: something may be due sooner.
func (v *vigil) freed() {
	if v.full {
		v.full = false
		v.look.Reset(max(0, time.Until(v.until)))
	}
}

// end ends the wait. A token in hand goes back where the claim, if there is one, has no slots.
func (v *vigil) end(ctx context.Context, g Grant) Grant {
	if heard := v.r.ear.Hush(); (heard || v.give != nil) && g.Slots == 0 {
		v.r.ear.ringBack(ctx)
	}
	return g
}
