package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/redistest"
)

// TestBench runs everything once, small, so that the cuts fit the scripts.
func TestBench(t *testing.T) {
	redistest.Binary(t) // skips where there is none
	var out strings.Builder
	s := settings{jobs: 1, rounds: 1, batches: []int{100}, steps: true}
	if err := bench(t.Context(), s, &out); err != nil {
		t.Fatal(err)
	}
	figures := 0
	for line := range strings.Lines(out.String()) {
		var f figure
		if strings.HasPrefix(line, "{") {
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			figures++
		}
	}
	if want := 1 + 3*len(measurands) + stepMeasurands*len(steps); figures != want {
		t.Errorf("%d lines of JSON, want %d", figures, want)
	}
}

func TestCutter(t *testing.T) {
	src := "-- claim.lua does\nlocal a = 1\nlocal b = 1\n"
	for name, c := range map[string]cut{
		"a piece that is not there":   {"claim", "local c = 1", ""},
		"a piece that is there twice": {"claim", " = 1", ""},
		"a script that is not loaded": {"settle", "local a = 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cutter := newCutter([]cut{c})
			_, err := cutter.apply(src)
			if err == nil {
				err = cutter.check()
			}
			if !errors.Is(err, errNoFit) {
				t.Errorf("%v, want %v", err, errNoFit)
			}
		})
	}
	cutter := newCutter([]cut{{"claim", "local a = 1\n", ""}})
	got, err := cutter.apply(src)
	if want := "-- claim.lua does\nlocal b = 1\n"; got != want || err != nil || cutter.check() != nil {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
