package waybill

import (
	"math/rand/v2"
	"time"
)

// RetryPolicy tells how long a job waits after its failures-th failure, counted from 1. It is
// called from many goroutines. A negative answer counts as zero.
type RetryPolicy func(failures int, err error) time.Duration

// Exponential doubles the delay from least to most, each time with jitter: the delay lies between
// half of the doubled value and the whole. With 1 s and 1 h, the default, the waits are about
// 1 s, 2 s, 4 s … and an hour from the 13th failure on.
func Exponential(least, most time.Duration) RetryPolicy {
	return func(failures int, _ error) time.Duration {
		d := least
		for range failures - 1 {
			if d >= most/2 {
				d = most
				break
			}
			d *= 2
		}
		d = max(0, min(d, most))
		return d/2 + rand.N(d/2+1)
	}
}

// Fixed waits the same time after each failure.
func Fixed(d time.Duration) RetryPolicy {
	return func(int, error) time.Duration { return d }
}
