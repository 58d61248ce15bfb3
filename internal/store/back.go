package store

import (
	"fmt"
	"strings"
	"time"
)

// Back is what brings a job back as it was exported, in place of when it is due.
type Back struct {
	// State is Ready, Scheduled, RetryState or DeadState; of CompletedState and CancelledState only what the settled
	// window knows comes back.
	State                               State
	At                                  time.Time // due; of a dead job, when it died
	EnqueuedAt                          time.Time
	Attempt, Failures, Crashes, Snoozes int
	Errors                              []Error
}

// text is the form in which the script takes it.
func (b *Back) text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "=%s %d %d %d %d %d %d", b.State, max(0, b.At.UnixMilli()), max(0, b.EnqueuedAt.UnixMilli()),
		b.Attempt, b.Failures, b.Crashes, b.Snoozes)
	for _, e := range b.Errors {
		s.WriteString("\n" + e.Line())
	}
	return s.String()
}
