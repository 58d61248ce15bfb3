package pipe

import (
	"fmt"
	"math"

	"github.com/waybillhq/waybill"
)

// maxEffects bounds each count of a settle.
const maxEffects = 1000

// checkEffects tells the first count of effects that is none.
func (m message) checkEffects() error {
	for _, f := range []struct {
		name string
		n    float64
	}{{"effects", m.Effects}, {"suppressed", m.Suppressed}, {"mismatches", m.Mismatches}} {
		if f.n < 0 || f.n > maxEffects || f.n != math.Trunc(f.n) {
			return fmt.Errorf("settle: %s is %v: a whole number from 0 to %d", f.name, f.n, maxEffects)
		}
	}
	return nil
}

// tellEffects notes in the attempt what a settle says of effects. Where a count is none the settle is a failure, and
// nothing is noted.
func (m message) tellEffects(a *waybill.Attempt) {
	if m.checkEffects() != nil {
		return
	}
	for e, n := range map[waybill.Effect]float64{
		waybill.EffectApplied: m.Effects, waybill.EffectSuppressed: m.Suppressed, waybill.EffectMismatch: m.Mismatches,
	} {
		for range int(n) {
			a.Count(e)
		}
	}
}
