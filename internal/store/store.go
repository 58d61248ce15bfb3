// Package store makes every call to Redis: one method a script, nothing else knows keys or
// replies. The scripts stand in lua/, one file a verb; each says its arguments, replies and
// promise on top. docs/protocol.md describes keys, records and scripts for other languages.
//
// All methods are safe for concurrent use. Each may be repeated, late and on another
// connection, with no second effect; a call whose reply is lost is repeated here, a few times,
// before ErrUnknown or ErrUnavailable is returned.
package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Bounds of one call, so that no script stops Redis for long. Larger requests are split.
const (
	maxItems = 1000    // jobs
	maxBytes = 1 << 20 // payload and results sent
	// ClaimBytes bounds the records that one claim brings, in bytes; one record always comes.
	ClaimBytes = 4 << 20
	// MaxLease bounds a lease. A deadline further off is cut to it: the server's clock went back.
	MaxLease = time.Hour
)

// tries is how often a call is sent before it is given up; pause is waited between, doubling.
const (
	tries = 4
	pause = 20 * time.Millisecond
)

// Options of a Store; the zero value is ready for use.
type Options struct {
	Prefix    string // stands before every key; "" = DefaultPrefix
	clock     string // Lua expression for TIME's reply; tests only
	noHeaders bool   // behave as on a server without script headers; tests only
	unhurried bool   // send nothing again because an answer is late; tests only
}

// Store speaks to one Redis under one prefix.
type Store struct {
	rdb       redis.UniversalClient
	prefix    string
	scripts   *scripts
	notices   *Notices
	probed    atomic.Int64 // when the idle connections were last probed, ns since 1970
	unhurried bool
}

// New makes a store on the caller's client. It sends nothing. Errors: record.ErrInvalid.
func New(rdb redis.UniversalClient, o Options) (*Store, error) {
	if _, ring := rdb.(*redis.Ring); ring {
		return nil, bad("redis client", "is a ring: scripts and notices need one node a queue, so a Client or a ClusterClient")
	}
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if err := checkPrefix(o.Prefix); err != nil {
		return nil, err
	}
	if o.clock == "" {
		o.clock = clockLine
	}
	return &Store{
		rdb: rdb, prefix: o.Prefix, scripts: newScripts(rdb, o.clock, o.noHeaders), notices: newNotices(rdb),
		unhurried: o.unhurried,
	}, nil
}

// Close ends what the store started. The Redis client stays open.
func (s *Store) Close() { s.notices.close() }

// Prefix is what stands before every key.
func (s *Store) Prefix() string { return s.prefix }

// Queue is the store of one queue.
type Queue struct {
	store *Store
	name  string
	tag   string
	topic bool   // it is a topic's stream: what is enqueued is published
	claim string // the script of its claims
	fixed []any  // what every call begins with: the number of keys, the keys, the tag

	trouble atomic.Pointer[error] // of the last try; nil where it was answered
}

// Queue gives the store of a queue, of a subscription ("topic/subscription"), or of what is sent to a topic ("topic:name"):
// of that only Enqueue and Outbox make sense. It sends nothing. Errors: record.ErrInvalid.
func (s *Store) Queue(name string) (*Queue, error) {
	if err := CheckAddress(name); err != nil {
		return nil, err
	}
	_, topic := TopicOf(name)
	q := &Queue{store: s, name: name, tag: tag(s.prefix, name), topic: topic, claim: "claim"}
	if strings.Contains(name, "/") {
		q.claim = subscriptionClaim
	}
	q.fixed = make([]any, 0, 2+len(fixedKeys))
	q.fixed = append(q.fixed, len(fixedKeys))
	for _, k := range fixedKeys {
		q.fixed = append(q.fixed, q.tag+k)
	}
	q.fixed = append(q.fixed, q.tag)
	return q, nil
}

// Name is the queue's name.
func (q *Queue) Name() string { return q.name }

// call runs a verb and repeats it while that may help. unsure tells that an earlier try of it
// may have happened.
func (q *Queue) call(ctx context.Context, name string, args ...any) (reply []any, unsure bool, err error) {
	if err := ctx.Err(); err != nil {
		return nil, false, &CallError{Verb: name, Queue: q.name, Kind: ErrUnavailable, Err: err}
	}
	script := name
	if name == "claim" {
		script = q.claim
	}
	for try := 0; ; try++ {
		cmd, err := q.store.scripts.run(ctx, q.store.patience(name, try), script, q.fixed, args)
		if err == nil {
			q.trouble.Store(nil)
			reply, err = cmd.Slice()
			return reply, unsure, err
		}
		err = readable(err)
		q.trouble.Store(&err)
		if errors.Is(err, errNoAnswer) {
			q.store.probe()
		}
		kind, again := classify(err)
		if q.store.scripts.all[name].verb.flag == "no-writes" {
			kind = ErrUnavailable // nothing can have happened
		}
		unsure = unsure || errors.Is(kind, ErrUnknown)
		if !again || try+1 == tries || !wait(ctx, pause<<try) {
			if unsure {
				kind = ErrUnknown
			}
			return nil, unsure, &CallError{Verb: name, Queue: q.name, Kind: kind, Err: err}
		}
	}
}

// Trouble is the error of the last call to Redis, if it failed, of any verb and caller.
func (q *Queue) Trouble() error {
	if err := q.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// wait lets a jittered pause pass; false where the context ended first.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d/2 + rand.N(d))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// words reads the answers to n items from position from on: one each, or one for all.
func words(reply []any, from, n int) ([]string, error) {
	got := len(reply) - from
	if got != n && (got != 1 || n < 1) {
		return nil, fmt.Errorf("%d answers to %d items: %w", got, n, errReply)
	}
	out := make([]string, n)
	for i := range out {
		out[i] = text(reply[from+min(i, got-1)])
	}
	return out, nil
}

// errReply says that a server's reply is not what the script promises.
var errReply = errors.New("unexpected reply")

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

func number(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case string:
		if v == "" {
			return 0
		}
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n
		}
		f, _ := strconv.ParseFloat(v, 64)
		return int64(f)
	}
	return 0
}

// moment reads milliseconds since 1970; "" is the zero time.
func moment(v any) time.Time {
	if ms := number(v); ms > 0 {
		return time.UnixMilli(ms)
	}
	return time.Time{}
}
