package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/redistest"
)

// TestTopics runs all of it once, shortly: that every figure is there, not what it is.
func TestTopics(t *testing.T) {
	t.Parallel()
	redistest.Binary(t) // skips where there is none
	var out strings.Builder
	s := settings{events: 2000, payload: 100, rounds: 1, lag: 3000, only: []string{"rates", "bells", "lag"}}
	if err := measure(t.Context(), s, &out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`rates +publish in bulk: [1-9]\d+/s; plain queue: [1-9]\d+/s; ratio \d`, `rates +work off: [1-9]`,
		`bells +64 subscriptions: [1-9]`, `lag +3000 events of 100 bytes: [1-9]`, `lag +stats: p50 \d`, `lag +publish: p50 \d`,
		`lag +cut of \d+ entries`,
	} {
		if !regexp.MustCompile(`(?m)^` + line).MatchString(out.String()) {
			t.Errorf("nothing like %s in\n%s", line, &out)
		}
	}
}
