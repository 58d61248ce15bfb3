package waybill_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

func TestNewClient_NoRedisClient(t *testing.T) {
	t.Parallel()
	if _, err := waybill.NewClient(nil, waybill.ClientOptions{}); !errors.Is(err, waybill.ErrInvalid) {
		t.Error(err)
	}
}

func TestWorker_UseAfterHandle(t *testing.T) {
	t.Parallel()
	c := shared(t)
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	w := newWorker(t, c, waybill.WorkerOptions{})
	var order atomic.Value
	order.Store("")
	note := func(word string) waybill.Middleware {
		return func(next waybill.Handler) waybill.Handler {
			return func(ctx context.Context, a *waybill.Attempt) ([]byte, error) {
				order.Store(order.Load().(string) + word)
				return next(ctx, a)
			}
		}
	}
	w.Use(note("a"))
	kind.Handle(w, func(context.Context, *waybill.Job[number]) error { return nil }, note("c"))
	w.Use(note("b"))
	start(t, w)
	if _, err := kind.Enqueue(t.Context(), c, number{1}); err != nil {
		t.Fatal(err)
	}
	until(t, "it ran", func() bool { return stats(t, c, "").Completed == 1 })
	if got := order.Load(); got != "abc" {
		t.Errorf("middleware ran in the order %q", got)
	}
}

func TestSteers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err     error
		outcome waybill.AttemptOutcome
		delay   time.Duration
	}{
		{nil, waybill.AttemptCompleted, 0},
		{errors.New("x"), waybill.AttemptRetry, -1},
		{fmt.Errorf("wrapped: %w", waybill.RetryAfter(time.Second, errors.New("x"))), waybill.AttemptRetry, time.Second},
		{waybill.Snooze(time.Minute), waybill.AttemptSnoozed, time.Minute},
		{waybill.Dead(errors.New("x")), waybill.AttemptDead, 0},
		{waybill.Cancel("x"), waybill.AttemptCancelled, 0},
	} {
		if outcome, delay := waybill.Steers(c.err); outcome != c.outcome || delay != c.delay {
			t.Errorf("%v: %s, %s", c.err, outcome, delay)
		}
	}
}

func TestEnqueue_SaysWhyNothingCame(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = rdb.Close() })
	c := newClient(t, rdb, "wb")
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	_, _ = kind.Enqueue(t.Context(), c, number{1}) // the first failure is known from here on
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	_, err := kind.Enqueue(ctx, c, number{1})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}
