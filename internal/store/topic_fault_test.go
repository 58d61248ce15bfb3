package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// claimCommands are what a claim of a subscription calls, but for those without which it can't begin.
var claimCommands = []string{
	"exists", "hdel", "hexists", "hget", "hgetall", "hincrby", "hkeys", "hlen", "hmget", "hset", "hsetnx", "llen", "lpush", "lrange", "ltrim",
	"mget", "mset", "publish", "set", "unlink", "xgroup", "xinfo", "xlen", "xpending", "xrange", "xtrim", "zadd", "zcard", "zrange",
	"zrangebyscore", "zrem",
}

// TestSubscriptionClaim_fails is what becomes of events when a claim fails in the middle. Nothing of it may be lost, and
// nothing leased twice, when the cause is gone.
func TestSubscriptionClaim_fails(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	for _, command := range claimCommands {
		t.Run("without "+command+" loses no event", func(t *testing.T) {
			f := newTopicOn(t, srv.Client(), "p"+command, false, "billing")
			admin := srv.Client()
			failure{
				basic:  !strings.HasPrefix(command, "x") && command != "hsetnx" && command != "hkeys",
				does:   func() { f.must(admin.Do(t.Context(), "ACL", "SETUSER", "default", "-"+command).Err()) },
				undoes: func() { f.must(admin.Do(t.Context(), "ACL", "SETUSER", "default", "+@all").Err()) },
			}.check(f)
		})
	}
	for _, key := range []string{
		"stream", "subs", "topic:meta", "topic:stats", "topic:ignored", "sub:billing:stats", "sub:billing:parked", "sub:billing:suspects",
		"sub:billing:runs", "sub:billing:bell", "sub:billing:stalled", "sub:billing:urgent", "sub:billing:settled:n0",
	} {
		t.Run("with something else at "+key+" loses no event", func(t *testing.T) {
			f := newTopicOn(t, srv.Client(), "k"+key, false, "billing")
			failure{
				does: func() {
					_ = f.rdb.Rename(t.Context(), f.base+key, f.base+"aside").Err() // where there is one
					f.do("GEOADD", f.base+key, 1, 1, "x")
					if strings.HasSuffix(key, "urgent") || strings.HasSuffix(key, "parked") || strings.HasSuffix(key, "suspects") {
						f.do("DEL", f.base+key)
						f.do("HSET", f.base+key, "x", 1)
					}
				},
				undoes: func() {
					f.do("DEL", f.base+key)
					_ = f.rdb.Rename(t.Context(), f.base+"aside", f.base+key).Err()
				},
			}.check(f)
		})
	}
}

// failure is something that makes a claim fail, until it is undone.
type failure struct {
	does, undoes func()
	basic        bool // it lets any queue's claim fail: jobs may have crashed then, or be an audit's to find
}

// check lets claims of ready jobs, ghosts, events and events to be parked fail, and then counts deliveries.
func (x failure) check(f *topicFixture) {
	f.t.Helper()
	odd := event("odd")
	odd.Job.Kind = "other"
	f.have("a", "b", "c")
	f.end("billing", store.Release, f.claim("billing", 2).Jobs...)
	f.do("RPUSH", f.base+"sub:billing:ready", "3e8F0000000ffff:orphan")
	f.add(odd)
	f.have("d", "e")
	f.pass(time.Second)
	x.does()
	taken := map[string]int{}
	for range 2 { // a fault lasts longer than one claim
		f.claims["billing"]++
		c := store.Claim{Worker: "Ann", Number: f.claims["billing"], Most: 5, Lease: 30 * time.Second, Kinds: []string{"orders"}}
		got, _ := f.queue("billing").Claim(f.t.Context(), c)
		for _, d := range got.Jobs {
			taken[d.ID]++
		}
	}
	x.undoes()
	for id, n := range taken {
		if n > 1 {
			f.t.Errorf("%s was leased %d times at once", id, n)
		}
	}
	done := map[string]int{}
	for range 8 {
		f.pass(time.Minute)
		jobs := append(f.claim("billing", 10).Jobs, f.suspects()...)
		for _, d := range jobs {
			done[d.ID]++
			if d.Crashes > 0 && !x.basic && taken[d.ID] == 0 {
				f.t.Errorf("%s is said to have crashed, and no worker had it", d.ID)
			}
		}
		f.end("billing", store.Ack, jobs...)
	}
	if x.basic {
		done["a"], done["b"] = 1, 1
	}
	f.is(map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "odd": 1}, done)
	s := f.sub("billing")
	f.is([]int64{0, 0, 0}, []int64{s.Lag, s.Lost, s.Ready + s.Active + s.Retry + s.Parked + s.Dead})
}

// suspects claims one job that crashed twice.
func (f *topicFixture) suspects() []store.Delivery {
	f.t.Helper()
	f.claims["billing"]++
	c := store.Claim{Worker: "Ann", Number: f.claims["billing"], Most: 10, Lease: 30 * time.Second, Suspect: true}
	got, err := f.queue("billing").Claim(f.t.Context(), c)
	f.must(err)
	return got.Jobs
}
