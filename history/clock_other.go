//go:build !unix

package history

import "time"

// Now is the wall clock, in nanoseconds: processes share no monotonic one here.
func Now() int64 { return time.Now().UnixNano() }
