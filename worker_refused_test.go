package waybill_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// Redis is there and refuses: work goes on when it no longer does.
func TestWorker_RedisRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		refuse, allow func(t *testing.T, rdb *redis.Conn) error
	}{
		"as a replica (READONLY)": {
			func(t *testing.T, rdb *redis.Conn) error {
				return rdb.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err()
			},
			func(t *testing.T, rdb *redis.Conn) error { return rdb.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err() },
		},
		"a user whose password changed (NOAUTH)": {
			func(t *testing.T, rdb *redis.Conn) error {
				rdb.ConfigSet(t.Context(), "requirepass", "new")
				return rdb.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err()
			},
			func(t *testing.T, rdb *redis.Conn) error { return rdb.ConfigSet(t.Context(), "requirepass", "").Err() },
		},
		"a user without the right (NOPERM)": {
			func(t *testing.T, rdb *redis.Conn) error {
				return rdb.Do(t.Context(), "ACL", "SETUSER", "default", "-evalsha").Err()
			},
			func(t *testing.T, rdb *redis.Conn) error {
				return rdb.Do(t.Context(), "ACL", "SETUSER", "default", "+evalsha").Err()
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, seen := redistest.Start(t), &watcher{}
			c, admin := newClient(t, srv.Client(), ""), srv.Client().Conn()
			t.Cleanup(func() { _ = admin.Close() })
			kind := waybill.Define[number]("k", waybill.KindOptions{})
			w := newWorker(t, c, waybill.WorkerOptions{Observe: seen.observe})
			running, goOn := make(chan struct{}), make(chan struct{})
			kind.Handle(w, func(context.Context, *waybill.Job[number]) error {
				running <- struct{}{}
				<-goOn
				return nil
			})
			start(t, w)
			if _, err := kind.EnqueueMany(t.Context(), c, make([]number, 2)); err != nil {
				t.Fatal(err)
			}
			<-running
			<-running
			if err := tc.refuse(t, admin); err != nil {
				t.Fatal(err)
			}
			close(goOn) // both ends are refused
			until(t, "it is told", func() bool { return len(seen.of(waybill.EventRedisDown, "")) == 1 })
			if err := tc.allow(t, admin); err != nil {
				t.Fatal(err)
			}
			until(t, "it is told that all is well", func() bool { return len(seen.of(waybill.EventRedisUp, "")) == 1 })
			until(t, "the ends are recorded", func() bool { return stats(t, c, "").Completed == 2 })
			if s := stats(t, c, ""); s.Deliveries != 2 || s.Crashes != 0 {
				t.Errorf("deliveries %d, crashes %d", s.Deliveries, s.Crashes)
			}
		})
	}
}

// A Redis that is frozen keeps connections open and answers nothing.
func TestWorker_StopsWhileRedisIsFrozen(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	c := newClient(t, srv.Client(), "")
	kind := waybill.Define[number]("k", waybill.KindOptions{})
	w := newWorker(t, c, waybill.WorkerOptions{Grace: 500 * time.Millisecond})
	running, goOn := make(chan struct{}), make(chan struct{})
	kind.Handle(w, func(context.Context, *waybill.Job[number]) error {
		close(running)
		<-goOn
		return nil
	})
	stop := start(t, w)
	if _, err := kind.Enqueue(t.Context(), c, number{1}); err != nil {
		t.Fatal(err)
	}
	<-running
	srv.Stop()
	defer srv.Cont()
	close(goOn)
	began := time.Now()
	if err := stop(); err == nil {
		t.Error("an end that is not recorded was not told")
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("the stop took %s with a grace of half a second", took)
	}
}

// One queue's node may be away while others answer.
func TestWorker_ClaimsOfOneQueueGetNoAnswer(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	proxy := redistest.NewProxy(t, srv)
	direct := newClient(t, srv.Client(), "")
	w := newWorker(t, newClient(t, proxy.Client(), ""), waybill.WorkerOptions{
		Concurrency: 1, Lease: time.Second, Queues: []waybill.QueueOptions{{Name: "a"}, {Name: "b"}},
	})
	kind := waybill.Define[number]("k", waybill.KindOptions{Queue: "b"})
	kind.Handle(w, func(context.Context, *waybill.Job[number]) error { return nil })
	proxy.LoseWhere(func(request []byte) bool { return bytes.Contains(request, []byte("{a}:ready")) })
	start(t, w)
	for range 20 {
		e, err := kind.Enqueue(t.Context(), direct, number{1}, waybill.Retention(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		await(t, direct, "b", e.ID, waybill.StateCompleted)
	}
	proxy.LoseWhere(nil)
	e, err := kind.On("a").Enqueue(t.Context(), direct, number{1}, waybill.Retention(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	await(t, direct, "a", e.ID, waybill.StateCompleted)
}
