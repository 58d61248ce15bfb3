package store

import (
	"cmp"
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var sources embed.FS

// A verb is one script: its parts in order, the file named like it behind them, and its flag.
type verb struct {
	name  string
	parts []string
	flag  string // of the script header: allow-oom, no-writes, or "" where memory may refuse it
	of    string // the verb that it is for some queues: its file stands last among the parts; "" = it is its own
}

// subscriptionClaim is what claim is for the queues of subscriptions. Others do without what it knows of streams.
const subscriptionClaim = "claim_events"

var verbs = []verb{
	{name: "enqueue"},
	{name: "publish", parts: []string{"ended", "turn", "topics"}},
	{name: "claim", parts: []string{"ended", "turn", "upkeep", "pick"}, flag: "allow-oom"},
	{
		name: subscriptionClaim, of: "claim", flag: "allow-oom",
		parts: []string{"ended", "turn", "upkeep", "pick", "topics", "places", "events", "claim"},
	},
	{name: "settle", parts: []string{"ended"}, flag: "allow-oom"},
	{name: "renew", flag: "allow-oom"},
	{name: "progress", flag: "allow-oom"},
	{name: "cancel", parts: []string{"ended", "where"}, flag: "allow-oom"},
	{name: "delete", parts: []string{"ended", "where"}, flag: "allow-oom"},
	{name: "requeue", parts: []string{"ended", "where"}, flag: "allow-oom"},
	{name: "promote", parts: []string{"ended", "where"}, flag: "allow-oom"},
	{name: "purge", parts: []string{"ended"}, flag: "allow-oom"},
	{name: "audit", parts: []string{"ended", "where"}, flag: "allow-oom"},
	{name: "configure", flag: "allow-oom"},
	{name: "ring", flag: "allow-oom"},
	{name: "outbox", parts: []string{"boxes"}, flag: "allow-oom"},
	{name: "told", flag: "allow-oom"},
	{name: "subscribe", parts: []string{"topics", "places"}},
	{name: "unsubscribe", parts: []string{"topics"}, flag: "allow-oom"},
	{name: "trim", parts: []string{"topics"}, flag: "allow-oom"},
	{name: "get", parts: []string{"ended", "where"}, flag: "no-writes"},
	{name: "ends", flag: "no-writes"},
	{name: "states", parts: []string{"ended", "where"}, flag: "no-writes"},
	{name: "outboxes", parts: []string{"boxes"}, flag: "no-writes"},
	{name: "list", flag: "no-writes"},
	{name: "stats", flag: "no-writes"},
	{name: "topic", parts: []string{"topics"}, flag: "no-writes"},
}

// clockLine is the line of head.lua that reads the clock; tests put their own in its place.
const clockLine = "call('TIME')"

// script is one verb in both forms: with a header, for Redis 7.0 on, and without.
type script struct {
	verb         verb
	source, sha  string
	plain, plSHA string
}

func build(v verb, clock string) script {
	var b strings.Builder
	part := func(name string) {
		src, err := sources.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // the files are embedded
		}
		b.Write(src)
	}
	part("head")
	head := strings.Replace(b.String(), clockLine, clock, 1)
	b.Reset()
	for _, p := range v.parts {
		part(p)
	}
	if v.of == "" {
		part(v.name)
	}
	body := b.String()
	s := script{verb: v, source: head + body, plain: head + body}
	if v.flag != "" {
		s.source = "#!lua flags=" + v.flag + "\n" + s.source
	} else {
		s.source = "#!lua\n" + s.source
	}
	if v.flag == "allow-oom" {
		src, _ := sources.ReadFile("lua/relief.lua")
		s.plain = head + string(src) + body
	}
	s.sha, s.plSHA = digest(s.source), digest(s.plain)
	return s
}

func digest(src string) string {
	sum := sha1.Sum([]byte(src))
	return hex.EncodeToString(sum[:])
}

// scripts calls verbs on a server, loads them where it does not know them, and finds out
// whether it knows script headers.
type scripts struct {
	rdb       redis.UniversalClient
	all       map[string]*script
	headless  atomic.Bool
	noHeaders bool // set by tests: behave as on a server without headers
}

func newScripts(rdb redis.UniversalClient, clock string, noHeaders bool) *scripts {
	s := &scripts{rdb: rdb, all: make(map[string]*script, len(verbs)), noHeaders: noHeaders}
	for _, v := range verbs {
		built := build(v, clock)
		s.all[v.name] = &built
	}
	s.headless.Store(noHeaders)
	return s
}

// once is a command that the client library sends one time only, so that what became of it
// is known; the store repeats it itself.
type once struct{ *redis.Cmd }

// NoRetry is asked by the client library.
func (once) NoRetry() bool { return true }

// run sends one call of a verb. It repeats it only where nothing can have run.
// patience is how long an answer is waited for; 0 = as long as the client library waits.
func (s *scripts) run(ctx context.Context, patience time.Duration, name string, fixed, args []any) (*redis.Cmd, error) {
	sc := s.all[name]
	if sc == nil {
		panic("store: no script " + name)
	}
	cmd, err := s.send(ctx, patience, sc, fixed, args)
	if err == nil || !redis.HasErrorPrefix(err, "NOSCRIPT") {
		return cmd, err
	}
	if _, err := attend(ctx, patience, func() (struct{}, error) { return struct{}{}, s.load(ctx, sc) }); err != nil {
		return nil, err
	}
	return s.send(ctx, patience, sc, fixed, args)
}

func (s *scripts) send(ctx context.Context, patience time.Duration, sc *script, fixed, args []any) (*redis.Cmd, error) {
	sha := sc.sha
	if s.headless.Load() {
		sha = sc.plSHA
	}
	words := make([]any, 0, 2+len(fixed)+len(args))
	words = append(append(append(words, "EVALSHA", sha), fixed...), args...)
	return attend(ctx, patience, func() (*redis.Cmd, error) {
		cmd := once{redis.NewCmd(ctx, words...)}
		return cmd.Cmd, s.rdb.Process(ctx, cmd)
	})
}

// load makes the script known to the server. A server that can't compile the header gets the plain form.
func (s *scripts) load(ctx context.Context, sc *script) error {
	if !s.headless.Load() {
		err := s.rdb.ScriptLoad(ctx, sc.source).Err()
		if err == nil || !headerRefused(err) {
			return wrapLoad(sc, err)
		}
		s.headless.Store(true)
	}
	return wrapLoad(sc, s.rdb.ScriptLoad(ctx, sc.plain).Err())
}

// Load makes all scripts known to the server. Calls do so by themselves, each for its own; it is for those who watch calls, and
// want none of them refused.
func (s *Store) Load(ctx context.Context) error {
	for _, sc := range s.scripts.all {
		if err := s.scripts.load(ctx, sc); err != nil {
			return err
		}
	}
	return nil
}

func wrapLoad(sc *script, err error) error {
	if err == nil {
		return nil
	}
	return &loadError{fmt.Errorf("load script %s: %w", sc.verb.name, err)}
}

// loadError is an error before anything ran.
type loadError struct{ error }

func (e *loadError) Unwrap() error { return e.error }

func headerRefused(err error) bool {
	msg := err.Error()
	return strings.Contains(msg, "compil") && strings.Contains(msg, "#")
}

// Digests names the verb of each script digest, in both forms, for those who watch the traffic.
func Digests() map[string]string {
	out := make(map[string]string, 2*len(verbs))
	for _, v := range verbs {
		s := build(v, clockLine)
		out[s.sha], out[s.plSHA] = cmp.Or(v.of, v.name), cmp.Or(v.of, v.name)
	}
	return out
}
