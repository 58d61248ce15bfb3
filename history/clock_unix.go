//go:build unix

package history

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the machine's monotonic clock, in nanoseconds. All processes of a machine share it, and nobody sets it.
func Now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return time.Now().UnixNano()
	}
	return t.Nano()
}
