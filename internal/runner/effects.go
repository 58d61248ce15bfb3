package runner

import (
	"sync/atomic"

	"github.com/waybillhq/waybill/internal/store"
)

// Effect is what became of one effect of an attempt.
type Effect string

// What may become of an effect. The root package documents them.
const (
	EffectApplied    Effect = "applied"
	EffectSuppressed Effect = "suppressed"
	EffectMismatch   Effect = "mismatch"
)

// effects counts what became of an attempt's effects. The zero value counts from zero. It is safe for concurrent use.
type effects struct{ applied, suppressed, mismatches atomic.Int64 }

// sum is what was counted so far.
func (e *effects) sum() store.Effects {
	return store.Effects{
		Applied: int(e.applied.Load()), Suppressed: int(e.suppressed.Load()), Mismatches: int(e.mismatches.Load()),
	}
}

// Count notes what became of one effect. It is told with the attempt's end: what is counted after the handler returned,
// or was given up, is not. Other words than the three count nothing.
func (a *Attempt) Count(e Effect) {
	switch e {
	case EffectApplied:
		a.told.applied.Add(1)
	case EffectSuppressed:
		a.told.suppressed.Add(1)
	case EffectMismatch:
		a.told.mismatches.Add(1)
	}
}
