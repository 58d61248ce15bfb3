package webhook_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/cmd/waybill/internal/webhook"
)

// FuzzRetryAfter reads a header that anybody may have written: the wait is always from a second to an hour.
func FuzzRetryAfter(f *testing.F) {
	f.Add("5", int64(0))
	f.Add("99999999999999999999", int64(1))
	f.Add("Fri, 31 Dec 1999 23:59:59 GMT", int64(1))
	f.Add("-1", int64(-1))
	f.Fuzz(func(t *testing.T, text string, now int64) {
		d, ok := webhook.RetryAfter(text, time.Unix(now, 0))
		if ok && (d < time.Second || d > time.Hour) {
			t.Errorf("%q is %s", text, d)
		}
	})
}
