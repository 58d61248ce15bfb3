package receipt

import (
	"time"

	"github.com/waybillhq/waybill"
)

// What a key takes of an attempt.

func scopeOf(a *waybill.Attempt) string   { return a.Queue }
func bornOf(a *waybill.Attempt) time.Time { return a.DueAt }

func (k Key) claimedAt() time.Time { return time.Time{} }

// tally is what an attempt tells of its effects.
type tally int

const (
	applied tally = iota
	suppressed
	mismatched
)

func (k Key) count(tally) {}

// untold: all earlier attempts were killed before they could tell of their effects.
func (k Key) untold() bool { return false }
