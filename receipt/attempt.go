package receipt

import (
	"time"

	"github.com/waybillhq/waybill"
)

// claimedAt is when the attempt was claimed, by Redis's clock; zero where that is not known.
func (k Key) claimedAt() time.Time {
	if k.attempt == nil {
		return time.Time{}
	}
	return k.attempt.ClaimedAt
}

// count tells the attempt what became of an effect, for the queue's counters.
func (k Key) count(e waybill.Effect) {
	if k.attempt != nil {
		k.attempt.Count(e)
	}
}

// replayed counts a duplicate that was suppressed. An attempt that was killed told nobody of its effects: where all before
// this one were, it counts them instead.
func (k Key) replayed() {
	k.count(waybill.EffectSuppressed)
	if k.attempt != nil && k.attempt.EarlierUntold() {
		k.count(waybill.EffectApplied)
	}
}

// handMade is the token of an attempt that a test made by hand.
const handMade = "made by hand"

// bornAt is when a job was first due, as far as its attempt says.
func bornAt(a *waybill.Attempt) time.Time {
	for _, at := range []time.Time{a.BornAt, a.DueAt, a.EnqueuedAt} {
		if !at.IsZero() {
			return at
		}
	}
	return time.Now()
}
