package waybill_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill"
)

func TestExponential(t *testing.T) {
	policy := waybill.Exponential(time.Second, time.Hour)
	for failures, whole := range map[int]time.Duration{
		0: time.Second, 1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second,
		12: 2048 * time.Second, 13: time.Hour, 64: time.Hour, 1000: time.Hour, 1 << 30: time.Hour,
	} {
		for range 200 {
			if d := policy(failures, nil); d < whole/2 || d > whole {
				t.Fatalf("after %d failures: %s, want from %s to %s", failures, d, whole/2, whole)
			}
		}
	}
	if d := waybill.Exponential(time.Hour, time.Second)(1, nil); d > time.Second {
		t.Errorf("the most beats the least: %s", d)
	}
}
