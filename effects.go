package waybill

import "github.com/waybillhq/waybill/internal/runner"

// Effect is what became of one effect of an attempt, say of one row it was to write.
type Effect string

// What may become of an effect.
const (
	EffectApplied    = Effect(runner.EffectApplied)    // it happened now, together with its receipt
	EffectSuppressed = Effect(runner.EffectSuppressed) // a receipt says that it had happened: it did not happen again
	EffectMismatch   = Effect(runner.EffectMismatch)   // refused: the receipt under its key is of other work
)

// Count notes what became of one effect of this attempt. Package receipt calls it; so does a handler that keeps receipts
// of its own. The counts go to Redis with the attempt's end, without a call of their own, and are added to those of the
// queue (QueueStats) where that end is recorded: once, however often it is sent. An attempt that is killed before its
// end is recorded tells nothing, and nor does one that lost its lease; what is counted after the handler has returned,
// or was given up, is not told either. So a queue's counters may be lower than what happened.
//
// It is safe for concurrent use and never fails. Other values than the three are ignored, and in an attempt made by
// hand it does nothing.
func (a *Attempt) Count(e Effect) {
	if a.inner != nil {
		a.inner.Count(runner.Effect(e))
	}
}

// EarlierUntold says that there were earlier attempts and that none of them told anything of its effects: each crashed,
// so its end was never recorded. What is found done already was then done by one of them, and counted by none. False
// for first attempts, and where any earlier one ended otherwise, or the job was requeued since.
func (a *Attempt) EarlierUntold() bool { return a.Number > 1 && a.Crashes == a.Number-1 }
