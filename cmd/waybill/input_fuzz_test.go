package main_test

import (
	"errors"
	"testing"

	main "github.com/waybillhq/waybill/cmd/waybill"
	"github.com/waybillhq/waybill/internal/record"
)

// FuzzObjectLine reads lines of enqueue --jsonl.
func FuzzObjectLine(f *testing.F) {
	f.Add([]byte(`{"id":"a","kind":"k","payload":{"x":1},"delay_ms":5,"priority":-3,"headers":{"a":"b"}}`))
	f.Add([]byte(`{"kind":"k","payload_base64":"eA==","at":"2026-01-31T12:00:00Z","retention_ms":1e400}`))
	f.Add([]byte(`{"kind":"k","kind":"l"} {}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := main.ParseObject(text)
		if err != nil && !errors.Is(err, record.ErrInvalid) {
			t.Errorf("error without sentinel: %v", err)
		}
		if err == nil && r.Kind == "" {
			t.Error("a job without a kind is taken")
		}
	})
}

// FuzzFlags reads spans, times and URLs.
func FuzzFlags(f *testing.F) {
	for _, s := range []string{
		"1d2h", "65535d", "7d-1s", "2026-01-31T09:00:00+01:00", "redis://u:p@h:1/2?dial_timeout=3s",
		"rediss+sentinel://u:p@h,[::1]:7/main/1", "redis+cluster://h,h:0?addr=x", "unix:///a?db=1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := main.ParseDuration(s); err == nil && d < 0 {
			t.Errorf("%q is the span %s", s, d)
		}
		_, _ = main.ParseTime(s)
		if kinds, err := main.CountTargets(s); err == nil && kinds != 1 {
			t.Errorf("%q names %d kinds of Redis", s, kinds)
		}
	})
}
