package main

import (
	"fmt"
	"time"

	"github.com/waybillhq/waybill"
)

// meter shows how far a change of many jobs is.
type meter struct {
	*liveLine
	done  string
	total int64 // jobs to be looked at, about
	began time.Time
}

func (a *app) newMeter(done string, total int64) *meter {
	return &meter{a.liveLine(), done, total, time.Now()}
}

// looked shows how far the counting is.
func (m *meter) looked(r waybill.BulkResult) {
	m.show(func() string {
		return fmt.Sprintf("%s counted, %s looked at, %s a second, %s left", thousands(r.Matched), thousands(r.Looked),
			m.rate(r.Looked), m.left(r.Looked))
	})
}

// changed shows how far the change is.
func (m *meter) changed(r waybill.BulkResult) {
	m.show(func() string {
		seen := r.Looked
		if r.Looked >= m.total { // as of a purge, which does not look
			seen = r.Changed
		}
		return fmt.Sprintf("%s %s, %s a second, %s left to look at", thousands(r.Changed), m.done, m.rate(r.Changed), m.left(seen))
	})
}

func (m *meter) rate(n int64) string {
	return thousands(int64(float64(n) / max(time.Since(m.began).Seconds(), 1e-3)))
}

func (m *meter) left(n int64) string { return thousands(max(0, m.total-n)) }
