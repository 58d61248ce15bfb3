package waybilltest_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// recorder is a test that may fail without failing the real one.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failed   []string
	logged   []string
	cleanups []func()
	deadline time.Time
}

func (r *recorder) Helper() {}

func (r *recorder) Context() context.Context { return context.Background() }

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorder) Deadline() (time.Time, bool) { return r.deadline, !r.deadline.IsZero() }

func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logged = append(r.logged, fmt.Sprintf(format, args...))
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// run runs a test, with its cleanups, and gives what it failed with, "" for none.
func (r *recorder) run(body func(t testing.TB)) string {
	var all sync.WaitGroup
	all.Go(func() {
		defer func() {
			for i := len(r.cleanups) - 1; i >= 0; i-- {
				r.cleanups[i]()
			}
		}()
		body(r)
	})
	all.Wait()
	return strings.Join(r.failed, "\n")
}

// fails checks that a test fails, and that it says all that is wanted.
func fails(t *testing.T, body func(t testing.TB), want ...string) {
	t.Helper()
	failsAs(t, &recorder{}, body, want...)
}

func failsAs(t *testing.T, r *recorder, body func(t testing.TB), want ...string) {
	t.Helper()
	said := r.run(body)
	if said == "" {
		t.Fatal("the test passed")
	}
	for _, w := range want {
		if !strings.Contains(said, w) {
			t.Errorf("the test failed with %q, which lacks %q", said, w)
		}
	}
}
