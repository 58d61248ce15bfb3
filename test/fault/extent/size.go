// Package extent says how much of the fault programme a run plays, from which seed, and adds up what its tiers counted.
package extent

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Environment of a run.
const (
	SizeEnv = "WAYBILL_FAULTS" // "check" (also where it is empty), "full", or a duration, as "2h"
	SeedEnv = "WAYBILL_SEED"   // a number; empty = a new one each time
)

// Size is how long a run is to be.
type Size struct {
	// Soak is how long what can go on for ever is to go on; 0 = as Full says.
	Soak time.Duration
	// Full is all that is counted; else a part, another one each time.
	Full bool
}

// Of reads the environment. A value that is none of them fails the test.
func Of(t testing.TB) Size {
	t.Helper()
	switch text := os.Getenv(SizeEnv); text {
	case "", "check":
		return Size{}
	case "full":
		return Size{Full: true}
	default:
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			t.Fatalf("%s is %q: want check, full, or a duration above zero", SizeEnv, text)
		}
		return Size{Full: true, Soak: d}
	}
}

// Pick gives one of three: for a short run, for a full one, or how long a soak lasts.
func (s Size) Pick(check, full time.Duration) time.Duration {
	switch {
	case s.Soak > 0:
		return s.Soak
	case s.Full:
		return full
	}
	return check
}

// Seed is that of the environment, or a new one. It is printed, with how to run the same again.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(SeedEnv); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s is %q: want a number", SeedEnv, text)
		}
	}
	t.Logf("seed %d; again with %s=%d go test -run '^%s$'", seed, SeedEnv, seed, t.Name())
	return seed
}

// Random is a source by a seed.
func Random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
