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
