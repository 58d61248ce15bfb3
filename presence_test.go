package waybill_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// theWorker waits until one worker is there, as wished.
func theWorker(t *testing.T, c *waybill.Client, wished func(waybill.WorkerInfo) bool) (i waybill.WorkerInfo) {
	t.Helper()
	until(t, "one worker is there as wished", func() bool {
		all, err := c.Workers(t.Context())
		if err == nil && len(all) == 1 {
			i = all[0]
		}
		return i.ID != "" && wished(i)
	})
	return i
}

func TestWorkers_AreSeen(t *testing.T) {
	t.Parallel()
	c := shared(t)
	w := newWorker(t, c, waybill.WorkerOptions{Concurrency: 3})
	held := make(chan struct{})
	waybill.Define[int]("seen", waybill.KindOptions{Queue: "mail"}).Handle(w, func(context.Context, *waybill.Job[int]) error {
		<-held
		return nil
	})
	stop := start(t, w)
	i := theWorker(t, c, func(i waybill.WorkerInfo) bool { return len(i.Queues) == 1 })
	host, _ := os.Hostname()
	if i.Host != host || i.PID != os.Getpid() || i.State != waybill.WorkerWorking || i.Concurrency != 3 ||
		len(i.Kinds) != 1 || i.Queues[0].Name != "mail" || i.Queues[0].Concurrency != 3 {
		t.Errorf("%+v", i)
	}
	b, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	var again waybill.WorkerInfo
	if err := json.Unmarshal(b, &again); err != nil || !cmp.Equal(i, again) {
		t.Errorf("%v: %s", err, cmp.Diff(i, again))
	}
	e, err := c.Enqueue(t.Context(), waybill.Request{Queue: "mail", Kind: "seen", Payload: []byte("1")})
	if err != nil {
		t.Fatal(err)
	}
	if j := await(t, c, "mail", e.ID, waybill.StateActive); j.Host != fmt.Sprintf("%s pid %d", host, os.Getpid()) {
		t.Errorf("the job is at %q", j.Host)
	}
	close(held)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if all, err := c.Workers(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("a worker that ended is there: %v, %v", all, err)
	}
}

func TestWorkers_AreAsked(t *testing.T) {
	t.Parallel()
	t.Run("quiet: no more claims, and it stays", func(t *testing.T) {
		t.Parallel()
		c := shared(t)
		asked := make(chan waybill.Event, 1)
		w := newWorker(t, c, waybill.WorkerOptions{Observe: func(e waybill.Event) {
			if e.Type == waybill.EventQuietAsked {
				asked <- e
			}
		}})
		k := waybill.Define[int]("quiet", waybill.KindOptions{})
		k.Handle(w, func(context.Context, *waybill.Job[int]) error { return nil })
		stop := start(t, w)
		i := theWorker(t, c, func(i waybill.WorkerInfo) bool { return len(i.Queues) == 1 })
		if err := c.QuietWorker(t.Context(), i.ID); err != nil {
			t.Fatal(err)
		}
		<-asked
		theWorker(t, c, func(i waybill.WorkerInfo) bool { return i.State == waybill.WorkerQuiet })
		if _, err := k.Enqueue(t.Context(), c, 1); err != nil {
			t.Fatal(err)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if s := stats(t, c, "default"); s.Ready != 1 || s.Deliveries != 0 {
			t.Errorf("%d ready, %d deliveries", s.Ready, s.Deliveries)
		}
	})
	t.Run("stop: Run ends as by its context", func(t *testing.T) {
		t.Parallel()
		c := shared(t)
		w := newWorker(t, c, waybill.WorkerOptions{})
		waybill.Define[int]("stop", waybill.KindOptions{}).Handle(w, func(context.Context, *waybill.Job[int]) error { return nil })
		ended := make(chan error, 1)
		go func() { ended <- w.Run(t.Context()) }()
		i := theWorker(t, c, func(i waybill.WorkerInfo) bool { return len(i.Queues) == 1 })
		if err := c.StopWorker(t.Context(), i.ID); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("it goes on")
		}
	})
	t.Run("nobody of that name", func(t *testing.T) {
		t.Parallel()
		if err := shared(t).StopWorker(t.Context(), "none"); !errors.Is(err, waybill.ErrNoWorker) {
			t.Errorf("%v: want ErrNoWorker", err)
		}
	})
}

// lines is a log that many write and one reads.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), text)
}

// TestS10_evictingRedis: a Redis that throws keys away is told of where work begins, and wherever the server is asked.
func TestS10_evictingRedis(t *testing.T) {
	t.Parallel()
	for policy, word := range map[string]string{"allkeys-lru": "throws jobs away", "volatile-ttl": "throws ended jobs", "noeviction": ""} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, redistest.Config("maxmemory-policy", policy), redistest.Config("maxmemory", "50mb"))
			c := newClient(t, s.Client(), "wb")
			info, err := c.Server(t.Context())
			if err != nil || info.MaxMemoryPolicy != policy || info.MaxMemory != 50<<20 || info.Role != "master" || info.Version == "" {
				t.Errorf("%+v, %v", info, err)
			}
			if got := strings.Join(info.Warnings(), "\n"); (word == "") != (got == "") || !strings.Contains(got, word) {
				t.Errorf("warnings %q: want %q", got, word)
			}
			log := &lines{}
			w := newWorker(t, c, waybill.WorkerOptions{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
			waybill.Define[int]("k", waybill.KindOptions{}).Handle(w, func(context.Context, *waybill.Job[int]) error { return nil })
			stop := start(t, w)
			until(t, "the log tells of the server", func() bool { return log.has("durability=") })
			if log.has("redis can lose jobs") != (word != "") {
				t.Errorf("log: %s", &log.b)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestQueue_Settings(t *testing.T) {
	t.Parallel()
	c := shared(t)
	q := c.Queue("mail")
	got, err := q.Settings(t.Context())
	if err != nil || *got.Capacity != waybill.Unlimited || *got.CrashAllowance != 5 || *got.DeadCount != 10_000 ||
		*got.DeadAge != 90*24*time.Hour || *got.WindowGenerated != time.Minute || *got.WindowNamed != time.Hour ||
		*got.WindowCount != 1_000_000 || *got.Lease != 30*time.Second {
		t.Errorf("defaults: %+v, %v", got, err)
	}
	want := waybill.QueueSettings{
		Capacity: ptr(int64(7)), CrashAllowance: ptr(int64(0)), DeadCount: ptr(int64(waybill.Unlimited)),
		DeadAge: ptr(time.Duration(waybill.Unlimited)), WindowGenerated: ptr(time.Second), WindowNamed: ptr(time.Minute),
		WindowCount: ptr(int64(1000)), Lease: ptr(2 * time.Second),
	}
	set(t, c, "mail", want)
	if got, err = q.Settings(t.Context()); err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v: %s", err, cmp.Diff(want, got))
	}
	for _, d := range []time.Duration{0, 99 * time.Millisecond, 2 * time.Hour} {
		if err := q.Set(t.Context(), waybill.QueueSettings{Lease: &d}); !errors.Is(err, waybill.ErrInvalid) {
			t.Errorf("lease %s: %v", d, err)
		}
	}
}

func TestWorker_LeaseOfTheQueue(t *testing.T) {
	t.Parallel()
	c := shared(t)
	set(t, c, "mail", waybill.QueueSettings{Lease: ptr(time.Hour)})
	w := newWorker(t, c, waybill.WorkerOptions{})
	k, held := waybill.Define[int]("k", waybill.KindOptions{Queue: "mail"}), make(chan struct{})
	k.Handle(w, func(context.Context, *waybill.Job[int]) error {
		<-held
		return nil
	})
	e, err := k.Enqueue(t.Context(), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	stop := start(t, w)
	j := await(t, c, "mail", e.ID, waybill.StateActive)
	if left := j.LeaseEndsAt.Sub(j.At); left < 50*time.Minute {
		t.Errorf("the lease ends in %s: the queue's are an hour long", left)
	}
	close(held)
	if err := stop(); err != nil {
		t.Error(err)
	}
}
