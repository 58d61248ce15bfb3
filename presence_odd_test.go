package waybill_test

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// asked is how often a server was asked for a command, by field calls or rejected_calls.
func asked(t *testing.T, rdb *redis.Client, command, field string) string {
	t.Helper()
	raw, err := rdb.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`cmdstat_` + command + `:.*\b` + field + `=(\d+)`).FindStringSubmatch(raw)
	if found == nil {
		return "0"
	}
	return found[1]
}

func TestWorker_NoRightToAsk(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	admin := s.Client()
	err := admin.Do(t.Context(), "ACL", "SETUSER", "few", "on", ">pw", "~*", "&*", "+@all", "-info", "-set", "-sadd", "-smembers").Err()
	if err != nil {
		t.Fatal(err)
	}
	o := *admin.Options()
	o.Username, o.Password = "few", "pw"
	rdb := redis.NewClient(&o)
	t.Cleanup(func() { rdb.Close() })
	c, log := newClient(t, rdb, "wb"), &lines{}
	w := newWorker(t, c, waybill.WorkerOptions{Logger: slog.New(slog.NewTextHandler(log, nil))})
	k := waybill.Define[int]("k", waybill.KindOptions{Retention: time.Hour})
	k.Handle(w, func(context.Context, *waybill.Job[int]) error { return nil })
	stop := start(t, w)
	e, err := k.Enqueue(t.Context(), c, 1, waybill.After(1500*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	await(t, c, "default", e.ID, waybill.StateCompleted)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if n := asked(t, admin, "info", "rejected_calls"); n != "1" {
		t.Errorf("INFO was refused %s times", n)
	}
	if n := strings.Count(log.b.String(), "level=WARN"); n != 1 || !log.has("does not permit INFO") {
		t.Errorf("%d warnings:\n%s", n, &log.b)
	}
}

func TestQueue_Get_Host(t *testing.T) {
	t.Parallel()
	const n = 30
	s := redistest.Start(t)
	c := newClient(t, s.Client(), "wb")
	w := newWorker(t, c, waybill.WorkerOptions{Concurrency: n})
	k, held := waybill.Define[int]("k", waybill.KindOptions{}), make(chan struct{})
	k.Handle(w, func(context.Context, *waybill.Job[int]) error {
		<-held
		return nil
	})
	for i := range n {
		if _, err := k.Enqueue(t.Context(), c, i, waybill.ID(fmt.Sprint("j", i))); err != nil {
			t.Fatal(err)
		}
	}
	stop := start(t, w)
	until(t, "the host of a job is known", func() bool {
		j, err := c.Queue("default").Get(t.Context(), fmt.Sprint("j", n-1))
		return err == nil && j.Host != ""
	})
	other := newClient(t, s.Client(), "wb")
	if err := s.Client().ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if j, err := other.Queue("default").Get(t.Context(), fmt.Sprint("j", i)); err != nil || j.State == waybill.StateActive && j.Host == "" {
			t.Errorf("%+v, %v", j, err)
		}
	}
	if got := asked(t, s.Client(), "smembers", "calls"); got != "1" {
		t.Errorf("the workers were read %s times for %d jobs", got, n)
	}
	close(held)
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// A wish that is called out before the worker hears is found when it hears, not only when it next appears by itself.
func TestWorkers_AskedUnheard(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client()
	admin := rdb.Conn()
	t.Cleanup(func() { _ = admin.Close() })
	may := func(what string) {
		t.Helper()
		if err := admin.Do(t.Context(), "ACL", "SETUSER", "default", what).Err(); err != nil {
			t.Fatal(err)
		}
	}
	may("-subscribe")
	c := newClient(t, rdb, "")
	w := newWorker(t, c, waybill.WorkerOptions{})
	waybill.Define[int]("k", waybill.KindOptions{}).Handle(w, func(context.Context, *waybill.Job[int]) error { return nil })
	ended := make(chan error, 1)
	go func() { ended <- w.Run(t.Context()) }()
	i := theWorker(t, c, func(i waybill.WorkerInfo) bool { return len(i.Queues) == 1 })
	until(t, "it appeared, and again with its queue", func() bool { return asked(t, rdb, "set", "calls") == "2" })
	if err := c.StopWorker(t.Context(), i.ID); err != nil {
		t.Fatal(err)
	}
	may("+subscribe")
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(8 * time.Second): // 10 s after its begin it appears by itself
		t.Fatal("it goes on")
	}
}
