package waybill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// Job is an attempt with its arguments.
type Job[In any] struct {
	*Attempt
	Args In
}

// Attempt is one claim of a job.
type Attempt struct {
	ID, Queue, Kind string
	// Token proves that this attempt holds the job. It is not the same for any other attempt.
	Token   string
	Payload []byte
	Headers map[string]string
	// Number counts the claims of the job, from 1. Failures and Crashes count how earlier ones ended.
	Number, Failures, Crashes int
	// MaxFailures: the failure that kills; Unlimited = none does.
	MaxFailures int
	Priority    int
	Version     int       // of the payload's shape
	EnqueuedAt  time.Time // by Redis's clock
	DueAt       time.Time // when the job was first due

	check    func(context.Context) error
	stopping <-chan struct{}
}

// Check asks Redis whether this attempt still holds the job, and renews the lease if so.
// Errors: ErrLeaseLost, ErrCancelled (held, but a cancel was asked for), ErrUnavailable.
func (a *Attempt) Check(ctx context.Context) error { return a.check(ctx) }

// Stopping is closed when the worker begins to stop, before the context ends: a long handler
// may save its place and return.
func (a *Attempt) Stopping() <-chan struct{} { return a.stopping }

// IdempotencyKey is what to give an outside system, the same for every attempt of the job:
// KIND/ID, with steps behind; above 255 bytes its SHA-256 in hex.
func (a *Attempt) IdempotencyKey(step ...string) string {
	key := strings.Join(append([]string{a.Kind, a.ID}, step...), "/")
	if len(key) > 255 {
		sum := sha256.Sum256([]byte(key))
		return hex.EncodeToString(sum[:])
	}
	return key
}

// Handler runs one attempt and steers by the error it returns: nil, an error (retry by policy),
// RetryAfter, Snooze, Dead or Cancel.
type Handler func(ctx context.Context, a *Attempt) (result []byte, err error)

// Middleware wraps a handler.
type Middleware func(Handler) Handler
