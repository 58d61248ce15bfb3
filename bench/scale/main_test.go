package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/redistest"
)

// TestScale runs all of it once, small: that every figure is there, not what it is.
func TestScale(t *testing.T) {
	redistest.Binary(t) // skips where there is none
	var out strings.Builder
	s := settings{waiting: 500, scheduled: 500, dead: 300, rate: 200, base: time.Second, depths: []int{100}}
	if _, err := measure(t.Context(), s, &out); err != nil {
		t.Fatal(err)
	}
	const some, took = `[1-9]\d*`, `\d+\.\d\d ms`
	const long = `(?:0\.0[1-9]|0\.[1-9]\d|[1-9]\d*\.\d\d) ms` // not 0
	for _, line := range []string{
		`^ +100 +` + some + ` +` + some + `$`, `^stats +` + long + ` +` + long + `$`,
		`^none +` + long + ` +` + long + `$`, // a change may be over before the other queue's next pick-up; this takes a second
		`^requeue all dead +` + some + ` +` + some + ` +` + took + ` +` + took + `$`,
		`^purge all waiting +` + some + ` +` + some + ` +` + took + ` +` + took + `$`,
		`^commands over 5ms by the slow log: \d+, the longest ` + took + `$`,
	} {
		if !regexp.MustCompile(`(?m)` + line).MatchString(out.String()) {
			t.Errorf("nothing like %s in\n%s", line, &out)
		}
	}
}
