package store_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// budget is how long all conformance tests together may take, on two cores. WAYBILL_T1=10m makes it longer.
func budget(t *testing.T) time.Duration {
	if s := os.Getenv("WAYBILL_T1"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatalf("WAYBILL_T1: %v", err)
		}
		return d
	}
	if testing.Short() {
		return 10 * time.Second
	}
	return 45 * time.Second
}

// explore checks a property again and again, with new seeds, for a share of the budget. A run that
// fails is shrunk; its seed is printed.
func explore(t *testing.T, share float64, prop func(*rapid.T)) {
	t.Helper()
	end := time.Now().Add(time.Duration(share * float64(budget(t))))
	runs, failures := 0, 0 // after a failure rapid shrinks it, at leisure
	for runs == 0 || time.Now().Before(end) {
		rapid.Check(t, func(t *rapid.T) {
			if runs == 0 || failures > 0 || time.Now().Before(end) {
				failures++
				prop(t)
				failures, runs = failures-1, runs+1
			}
		})
		if f := flag.Lookup("rapid.seed"); f != nil && f.Value.String() != "0" {
			return // one seed was asked for
		}
	}
}
