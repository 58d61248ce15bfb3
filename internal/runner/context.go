package runner

import (
	"context"
	"sync"
	"time"
)

// attemptContext is a handler's context. Many handlers never look at theirs, so what the standard library needs for
// one is made when it is first asked.
type attemptContext struct {
	parent  context.Context // of all handlers of the runner; has no deadline
	began   time.Time
	timeout time.Duration // 0 = none

	mu     sync.Mutex
	real   context.Context // nil: nobody asked
	cancel context.CancelCauseFunc
	timer  context.CancelFunc
	cause  error     // with which it was ended
	ended  time.Time // when
}

// Deadline is that of the kind's timeout.
func (c *attemptContext) Deadline() (time.Time, bool) {
	if c.timeout == 0 {
		return time.Time{}, false
	}
	return c.began.Add(c.timeout), true
}

// Done is closed when the context ends.
func (c *attemptContext) Done() <-chan struct{} { return c.made().Done() }

// Err says whether it has ended.
func (c *attemptContext) Err() error { return c.made().Err() }

// Value is the parent's. The standard library finds the cause by it.
func (c *attemptContext) Value(key any) any { return c.made().Value(key) }

// limit sets the begin and the timeout, before the handler gets the context.
func (c *attemptContext) limit(began time.Time, timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began, c.timeout = began, max(0, timeout)
}

func (c *attemptContext) made() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.real != nil {
		return c.real
	}
	c.real, c.cancel = context.WithCancelCause(c.parent)
	if deadline, ok := c.Deadline(); ok {
		c.real, c.timer = context.WithDeadlineCause(c.real, deadline, ErrTimeout)
	}
	if c.cause != nil {
		c.cancel(c.cause)
	}
	return c.real
}

// end ends the context with a cause, if it goes on.
func (c *attemptContext) end(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause, c.ended = cause, time.Now()
	}
	if c.real != nil {
		c.cancel(cause)
	}
	if c.timer != nil {
		c.timer()
	}
}

// why is the cause with which it ended; nil while it goes on.
func (c *attemptContext) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.real != nil:
		return context.Cause(c.real)
	case c.cause != nil:
		return c.cause
	case c.timeout > 0 && time.Since(c.began) >= c.timeout:
		return ErrTimeout
	}
	return context.Cause(c.parent)
}

// over is for how long it has ended; 0 while it goes on.
func (c *attemptContext) over(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended := c.ended
	if deadline, ok := c.Deadline(); ok && (ended.IsZero() || deadline.Before(ended)) {
		ended = deadline
	}
	if ended.IsZero() {
		return 0
	}
	return max(0, now.Sub(ended))
}
