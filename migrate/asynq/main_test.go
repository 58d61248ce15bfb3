package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9/logging"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	main "github.com/waybillhq/waybill/migrate/asynq"
)

// asProgram in the environment makes the test binary the program, for a test that kills it.
const asProgram = "MIGRATE_ASYNQ_AS_PROGRAM"

func TestMain(m *testing.M) {
	logging.Disable()
	if os.Getenv(asProgram) != "" {
		os.Exit(main.Run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// site is a Redis with asynq and Waybill on it.
type site struct {
	t         *testing.T
	url       string
	conn      asynq.RedisConnOpt
	tasks     *asynq.Client
	inspector *asynq.Inspector
	jobs      *waybill.Client
}

func newSite(t *testing.T) *site {
	t.Helper()
	server := redistest.Start(t, redistest.TCP())
	conn, err := asynq.ParseRedisURI(server.URL())
	must(t, err)
	jobs, err := waybill.NewClient(server.Client(), waybill.ClientOptions{})
	must(t, err)
	s := &site{
		t: t, url: server.URL(), conn: conn, tasks: asynq.NewClient(conn), inspector: asynq.NewInspector(conn), jobs: jobs,
	}
	t.Cleanup(func() {
		_ = s.tasks.Close()
		_ = s.inspector.Close()
	})
	return s
}

// enqueue sends a task to asynq's queue mail, unless an option says another.
func (s *site) enqueue(typ, id string, o ...asynq.Option) {
	s.t.Helper()
	o = append([]asynq.Option{asynq.Queue("mail"), asynq.TaskID(id)}, o...)
	_, err := s.tasks.Enqueue(asynq.NewTask(typ, []byte("payload of "+id)), o...)
	must(s.t, err)
}

// move runs the program and expects a status.
func (s *site) move(status int, args ...string) (out string) {
	s.t.Helper()
	var stdout, stderr bytes.Buffer
	args = append([]string{"--from", s.url, "--to", s.url}, args...)
	if got := main.Run(s.t.Context(), args, &stdout, &stderr); got != status {
		s.t.Fatalf("status %d, want %d\n%s%s", got, status, &stdout, &stderr)
	}
	return stdout.String() + stderr.String()
}

func (s *site) job(id string) waybill.JobInfo {
	s.t.Helper()
	j, err := s.jobs.Queue("mail").Get(s.t.Context(), id)
	must(s.t, err)
	return j
}

// until waits for a fact that somebody else brings about.
func (s *site) until(what string, holds func() bool) {
	s.t.Helper()
	deadline := time.After(30 * time.Second)
	for tick := time.NewTicker(20 * time.Millisecond); !holds(); {
		select {
		case <-tick.C:
		case <-deadline:
			s.t.Fatalf("after 30 s not yet: %s", what)
		}
	}
}

// info is how asynq's queue mail stands.
func (s *site) info() *asynq.QueueInfo {
	s.t.Helper()
	info, err := s.inspector.GetQueueInfo("mail")
	must(s.t, err)
	return info
}

// serve runs a server of asynq until the test ends. Tasks of type block fail when release is closed, all others at once.
func (s *site) serve(release <-chan struct{}) {
	s.t.Helper()
	server := asynq.NewServer(s.conn, asynq.Config{
		Concurrency: 10, Queues: map[string]int{"mail": 1}, LogLevel: asynq.FatalLevel,
		RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return time.Hour },
	})
	must(s.t, server.Start(asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error {
		if task.Type() == "block" {
			<-release
		}
		return errors.New("no host")
	})))
	s.t.Cleanup(server.Shutdown)
}

func wants(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(out, p) {
			t.Errorf("%q is not in the output:\n%s", p, out)
		}
	}
}

func TestRun_states(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	release := make(chan struct{})
	s.serve(release)
	s.enqueue("mail:welcome", "failed", asynq.MaxRetry(3))
	s.enqueue("mail:welcome", "archived", asynq.MaxRetry(0))
	s.enqueue("block", "active", asynq.MaxRetry(3))
	s.until("the tasks have failed", func() bool {
		i := s.info()
		return i.Retry == 1 && i.Archived == 1 && i.Active == 1
	})
	must(t, s.inspector.PauseQueue("mail"))
	due := time.Now().Add(2 * time.Hour).Truncate(time.Second)
	s.enqueue("mail:welcome", "ready", asynq.Retention(time.Hour), asynq.Unique(time.Hour))
	s.enqueue("mail:welcome", "later", asynq.ProcessAt(due), asynq.Timeout(time.Minute), asynq.Deadline(due.Add(time.Hour)))

	before := *s.info()
	out := s.move(0, "--dry-run", "--archived")
	wants(t, out, "to move   4: 1 pending, 1 scheduled, 1 retry, 1 archived", "nothing is changed")
	if now := s.info(); now.Size != before.Size {
		t.Errorf("after a dry run there are %d tasks, before %d", now.Size, before.Size)
	}
	if stats, err := s.jobs.Queue("mail").Stats(t.Context()); err != nil || stats.Accepted != 0 {
		t.Errorf("after a dry run %d jobs, %v", stats.Accepted, err)
	}

	out = s.move(1, "--archived")
	wants(t, out, "moved     4: 1 pending, 1 scheduled, 1 retry, 1 archived; 0 were there before",
		"type mail:welcome is kind mail.welcome", "1 active, 0 pending", "run it again")
	t.Run("a pending task is ready", func(t *testing.T) {
		j := s.job("ready")
		if j.State != waybill.StateReady || j.Kind != "mail.welcome" || string(j.Payload) != "payload of ready" ||
			j.Retention != time.Hour || j.MaxFailures != 26 || j.Failures != 0 {
			t.Errorf("%+v", j)
		}
	})
	t.Run("a scheduled task is scheduled, its timeout and deadline headers", func(t *testing.T) {
		j := s.job("later")
		if j.State != waybill.StateScheduled || !j.DueAt.Equal(due) || j.Headers["asynq-timeout"] != "1m0s" ||
			j.Headers["asynq-deadline"] != due.Add(time.Hour).UTC().Format(time.RFC3339) {
			t.Errorf("%+v", j)
		}
	})
	t.Run("a task that failed waits for its retry with its error", func(t *testing.T) {
		j := s.job("failed")
		if j.State != waybill.StateRetry || j.Failures != 1 || j.MaxFailures != 4 || time.Until(j.DueAt) < 50*time.Minute ||
			len(j.Errors) != 1 || j.Errors[0].Message != "no host" {
			t.Errorf("%+v", j)
		}
	})
	t.Run("an archived task is dead with its error", func(t *testing.T) {
		j := s.job("archived")
		if j.State != waybill.StateDead || j.Failures != 1 || j.MaxFailures != 1 || time.Since(j.FinishedAt) > time.Minute ||
			len(j.Errors) != 1 || j.Errors[0].Message != "no host" {
			t.Errorf("%+v", j)
		}
	})
	t.Run("the lock of a unique task is gone with it", func(t *testing.T) {
		s.enqueue("mail:welcome", "ready", asynq.Unique(time.Hour))
		s.move(1)
	})
	t.Run("an active task is moved after it failed in asynq", func(t *testing.T) {
		close(release)
		s.until("the active task has failed", func() bool { return s.info().Retry == 1 })
		wants(t, s.move(0), "moved     1: 0 pending, 0 scheduled, 1 retry")
		if j := s.job("active"); j.State != waybill.StateRetry || j.Failures != 1 {
			t.Errorf("%+v", j)
		}
		if i := s.info(); i.Size != 0 || !i.Paused {
			t.Errorf("asynq: %+v", i)
		}
	})
}

func TestRun_again(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.enqueue("k", "a")
	s.enqueue("k", "b")
	s.move(0)
	s.enqueue("k", "a") // as if the program had been killed before it deleted the task
	wants(t, s.move(0), "moved     1: 1 pending", "1 were there before")
	if stats, err := s.jobs.Queue("mail").Stats(t.Context()); err != nil || stats.Ready != 2 || stats.Accepted != 2 {
		t.Errorf("%+v, %v", stats, err)
	}
	if n := s.info().Size; n != 0 {
		t.Errorf("%d tasks are left", n)
	}
}

func TestRun_left(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 130 { // more than a page of what stays, before what goes
		s.enqueue("send mail", fmt.Sprint("spaced-", i))
	}
	s.enqueue("a:b", "first")
	s.enqueue("a.b", "second")
	s.enqueue("a:b", strings.Repeat("x", 129))
	s.enqueue("a:b", "grouped", asynq.Group("g"))
	out := s.move(1)
	wants(t, out, "moved     1: 1 pending", "1 in groups",
		`left      130, such as "spaced-99": kind: "send mail" holds ' '`, `left      1, such as "second": type "a.b" would be kind a.b`,
		"id: is 129 bytes long: at most 128")
	t.Run("names that were given go", func(t *testing.T) {
		wants(t, s.move(1, "--kind", "send mail=mail.send", "--kind", "a.b=a.b2", "--queue", "mail=letters"), "moved     131", "to letters")
		if j, err := s.jobs.Queue("letters").Get(t.Context(), "second"); err != nil || j.Kind != "a.b2" {
			t.Errorf("%+v, %v", j, err)
		}
	})
	t.Run("an ID that is other work in Waybill is left", func(t *testing.T) {
		s.enqueue("other", "first")
		wants(t, s.move(1), `such as "first": job … in queue mail: the id is taken by other work`)
	})
	t.Run("a full queue stops the move, and loses nothing", func(t *testing.T) {
		none := int64(0)
		must(t, s.jobs.Queue("full").Set(t.Context(), waybill.QueueSettings{Capacity: &none}))
		s.enqueue("k", "waits", asynq.Queue("full"))
		wants(t, s.move(1, "--queue", "full"), "queue full is full (0 of 0)", "moved     0", "1 pending")
	})
}

func TestRun_queueName(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.enqueue("k", "a", asynq.Queue("low mail"))
	t.Run("a queue whose name is forbidden is told, and not paused", func(t *testing.T) {
		wants(t, s.move(1), `queue: "low mail" holds ' '`, "give --queue low mail=NAME")
		if info, err := s.inspector.GetQueueInfo("low mail"); err != nil || info.Paused {
			t.Errorf("%+v, %v", info, err)
		}
	})
	t.Run("under another name it goes", func(t *testing.T) {
		wants(t, s.move(0, "--queue", "low mail=mail"), "queue low mail to mail", "moved     1")
		if j := s.job("a"); j.State != waybill.StateReady {
			t.Errorf("%+v", j)
		}
	})
}

func TestRun_usage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	wants(t, s.move(1, "--queue", "nowhere"), "queue nowhere of asynq")
	wants(t, s.move(2, "--from", "here"), "give --from and --to")
	wants(t, s.move(2, "--frm", "here"), "flag provided but not defined")
	wants(t, s.move(0, "--help"), "-dry-run")
}
