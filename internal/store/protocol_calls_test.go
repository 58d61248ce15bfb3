package store_test

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// comparesCalls counts the arguments of each call, made for one item.
func (p protocol) comparesCalls(t *testing.T) {
	rdb, sent := redis.NewClient(&redis.Options{}), &listener{}
	t.Cleanup(func() { _ = rdb.Close() })
	rdb.AddHook(sent)
	s, _ := store.New(rdb, store.Options{})
	q, _ := s.Queue("mail")
	topic, _ := s.Topic("orders")
	ctx := t.Context()
	calls := map[string]func(){
		"enqueue":     func() { q.Enqueue(ctx, []store.Add{{ID: "a", Job: record.Job{Kind: "k"}}}, false) },
		"claim":       func() { _, _ = q.Claim(ctx, store.Claim{Worker: "w", Number: 1, Most: 1, Lease: time.Second}) },
		"settle":      func() { _, _ = q.Settle(ctx, []store.Settlement{{Member: "m", End: store.Retry}}) },
		"renew":       func() { _, _ = q.Renew(ctx, time.Second, []string{"m"}) },
		"progress":    func() { _, _ = q.Progress(ctx, "m", 1, "half") },
		"ends":        func() { _, _ = q.Ends(ctx, []string{"a"}) },
		"cancel":      func() { _, _ = q.Cancel(ctx, "why", "a") },
		"delete":      func() { _, _ = q.Delete(ctx, store.DeleteOptions{}, "a") },
		"requeue":     func() { _, _ = q.Requeue(ctx, "a") },
		"promote":     func() { _, _ = q.Promote(ctx, "a") },
		"purge":       func() { _, _ = q.Purge(ctx, store.DeadState, 1) },
		"get":         func() { _, _ = q.Get(ctx, "a") },
		"list":        func() { _, _ = q.List(ctx, store.DeadState, "", 1, true) },
		"stats":       func() { _, _ = q.Stats(ctx) },
		"ring":        func() { _ = q.Ring(ctx) },
		"outbox":      func() { _, _ = q.Outbox("red").Enter(ctx) },
		"outboxes":    func() { _, _ = q.Outboxes(ctx) },
		"told":        func() { _, _, _, _ = q.Outbox("red").Read(ctx, '0', "0", []store.Word{{ID: "a"}}) },
		"publish":     func() { topic.Enqueue(ctx, []store.Add{{ID: "a", Job: record.Job{Kind: "k"}}}, false) },
		"subscribe":   func() { _, _ = topic.Subscribe(ctx, "billing", store.Beginning, store.Create) },
		"unsubscribe": func() { _, _ = topic.Unsubscribe(ctx, "billing") },
		"trim":        func() { _, _ = topic.Trim(ctx, "") },
		"topic":       func() { _, _ = topic.Look(ctx) },
		"states":      func() { _, _ = q.States(ctx, []string{"a"}) },
	}
	for name, call := range calls {
		sent.args = make([]any, 3)
		call()
		sum := sha1.Sum([]byte(store.Source(name)))
		keys, _ := sent.args[2].(int)
		if sent.args[1] != hex.EncodeToString(sum[:]) || keys != len(store.FixedKeys()) {
			t.Errorf("%s: sent was %v", name, sent.args)
			continue
		}
		if got, want := len(sent.args)-3-keys, listed(p.comments[name]); got != want {
			t.Errorf("%s: %d arguments are sent, the comment lists %d", name, got, want)
		}
	}
}

// listed counts the arguments that a comment lists.
func listed(comment string) int {
	_, list, _ := strings.Cut(comment, "\nARGV: ")
	list, _, _ = strings.Cut(list, "\nReply: ")
	return strings.Count(regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(list, ""), ",") + 1
}

// listener is a hook that keeps the last command and sends nothing.
type listener struct{ args []any }

func (l *listener) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *listener) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (l *listener) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		l.args = cmd.Args()
		return context.Canceled
	}
}
