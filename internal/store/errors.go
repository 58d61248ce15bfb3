package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/record"
)

// What became of a call that brought no answer.
var (
	// ErrUnavailable: Redis did not take the call; nothing happened. Ask again later.
	ErrUnavailable = errors.New("redis unavailable: nothing happened")
	// ErrUnknown: the call was sent and the answer did not come; it may have happened. Ask again
	// with the same ID.
	ErrUnknown = errors.New("outcome unknown: ask again with the same ID")
	// ErrNewer: the job's record was written by a newer version of Waybill and is left alone.
	ErrNewer = record.ErrNewer
	// ErrNotFound: nothing is known of the job; it may have existed beyond retention and window.
	ErrNotFound = errors.New("job not found")
	// ErrNoWorker: no worker of this ID is there.
	ErrNoWorker = errors.New("no such worker")
)

// CallError is a call that brought no answer. It unwraps to ErrUnavailable or ErrUnknown, and
// to what the client said.
type CallError struct {
	Verb  string // the script
	Queue string // or the address of a topic
	Kind  error  // ErrUnavailable or ErrUnknown
	Err   error  // what the client said
}

func (e *CallError) Error() string {
	topic, ok := TopicOf(e.Queue)
	switch {
	case ok && e.Verb == "topic":
		return fmt.Sprintf("topic %q: %v: %v", topic, e.Kind, e.Err)
	case ok:
		return fmt.Sprintf("%s topic %q: %v: %v", e.Verb, topic, e.Kind, e.Err)
	}
	return fmt.Sprintf("%s %q: %v: %v", e.Verb, e.Queue, e.Kind, e.Err)
}

// Unwrap gives both, for errors.Is and errors.As.
func (e *CallError) Unwrap() []error { return []error{e.Kind, e.Err} }

// readError is what became of a plain command that only reads.
func readError(verb, of string, err error) error {
	return &CallError{Verb: verb, Queue: of, Kind: ErrUnavailable, Err: readable(err)}
}

// untouched are the error codes with which a server refuses a call before anything ran.
// Source: the order of checks in Redis 7.0's processCommand and script.c.
var untouched = []string{
	"NOSCRIPT", "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "BUSY", "READONLY",
	"NOREPLICAS", "MISCONF", "OOM", "NOAUTH", "WRONGPASS", "NOPERM", "UNBLOCKED", "EXECABORT",
}

// transient are those of them that pass by themselves.
var transient = []string{"MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "BUSY", "READONLY", "NOREPLICAS"}

// classify says whether a failed call may have happened, and whether it is worth another try now.
func classify(err error) (kind error, again bool) {
	var load *loadError
	var reply redis.Error
	var dial *net.OpError
	var certificate *tls.CertificateVerificationError
	var handshake tls.RecordHeaderError
	switch {
	case errors.As(err, &certificate), errors.As(err, &handshake):
		return ErrUnavailable, false
	case errors.As(err, &reply):
		return classifyReply(reply.Error(), errors.As(err, &load))
	case errors.Is(err, redis.ErrClosed), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return ErrUnavailable, false
	case errors.As(err, &dial) && dial.Op == "dial", errors.As(err, &load):
		return ErrUnavailable, true
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ErrUnknown, false
	}
	return ErrUnknown, true
}

// noAuth is how a server asks for a password where a call has many arguments.
const noAuth = "Protocol error: unauthenticated"

// readable says so in the words of the other calls.
func readable(err error) error {
	if strings.Contains(err.Error(), noAuth) {
		return fmt.Errorf("NOAUTH Authentication required: %w", err)
	}
	return err
}

func classifyReply(msg string, loading bool) (kind error, again bool) {
	code, _, _ := strings.Cut(msg, " ")
	inside := strings.Contains(msg, "script: ") || strings.Contains(msg, "Error running script")
	if strings.Contains(msg, "-OOM") || code == "OOM" { // enqueue's first write is the one refused
		return ErrUnavailable, false
	}
	if strings.Contains(msg, noAuth) {
		// The server has closed the connection. The pool may hold more that were made without the password: each is only
		// found by a call, and a new one may have it.
		return ErrUnavailable, true
	}
	if slices.Contains(untouched, code) && !inside || loading {
		return ErrUnavailable, slices.Contains(transient, code)
	}
	return ErrUnknown, false
}
