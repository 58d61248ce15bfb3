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
	for _, line := range []string{
		`(?m)^ +100 +\d+ +\d+$`, `stats +\d+\.\d\d ms`, `requeue all dead +\d+ +\d+ +[1-9.]`, `purge all waiting +[1-9]`,
		`commands over 5ms by the slow log: \d+`,
	} {
		if !regexp.MustCompile(line).MatchString(out.String()) {
			t.Errorf("nothing like %s in\n%s", line, &out)
		}
	}
}
