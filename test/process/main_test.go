package process_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// binary is the path of the built program.
var binary string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "waybill-process-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "waybill")
	out, err := exec.CommandContext(context.Background(), "go", "build", "-o", binary, "../../cmd/waybill").CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil { // they wait more than they compute
		panic(err)
	}
	logging.Disable() // servers are killed here; what comes of it is returned too
	return m.Run()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// queue is the queue of every test here, on a server of the test's own.
const queue = "q"

// scene is one test's Redis, with a client.
type scene struct {
	t *testing.T
	*waybill.Client
	server *redistest.Server
}

func newScene(t *testing.T, o ...redistest.Option) *scene {
	t.Helper()
	s := redistest.Start(t, o...)
	c, err := waybill.NewClient(s.Client(), waybill.ClientOptions{})
	must(t, err)
	return &scene{t, c, s}
}

// send enqueues one job of queue q and expects it to be accepted.
func (s *scene) send(id string, o ...waybill.EnqueueOption) {
	s.t.Helper()
	r := waybill.Request{Queue: queue, Kind: "k", ID: id, Retention: time.Hour}
	for _, option := range o {
		option(&r)
	}
	if e, err := s.Enqueue(s.t.Context(), r); err != nil || e.Outcome != waybill.OutcomeAccepted {
		s.t.Fatalf("enqueue %s: %s, %v", id, e.Outcome, err)
	}
}

func (s *scene) stats() waybill.QueueStats {
	s.t.Helper()
	stats, err := s.Queue(queue).Stats(s.t.Context())
	must(s.t, err)
	return stats
}

func (s *scene) job(id string) waybill.JobInfo {
	s.t.Helper()
	j, err := s.Queue(queue).Get(s.t.Context(), id)
	must(s.t, err)
	return j
}

// soon plays a round until it took no longer than d, three times at most: a busy machine may spoil some.
func soon(t *testing.T, d time.Duration, round func() time.Duration) {
	t.Helper()
	var took []time.Duration
	for len(took) < 3 {
		took = append(took, round())
		t.Logf("it took %s", took[len(took)-1])
		if took[len(took)-1] <= d {
			return
		}
	}
	t.Errorf("not within %s in any of three rounds: %s", d, took)
}

// until waits until something is so, at most two minutes: the machine may be busy.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for !is() {
		select {
		case <-deadline:
			t.Fatalf("never came true: %s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// settled waits until no job is live, and checks that the counts add up.
func (s *scene) settled() waybill.QueueStats {
	s.t.Helper()
	var got waybill.QueueStats
	until(s.t, "no job is live", func() bool {
		got = s.stats()
		return got.Live() == 0
	})
	if got.Accepted+got.Requeued != got.Completed+got.Died+got.Cancelled+got.Deleted ||
		got.Deliveries != got.Completed+got.Failures+got.Crashes+got.Snoozes+got.Released {
		s.t.Errorf("the account does not add up: %+v", got)
	}
	return got
}

// worker is a worker process.
type worker struct {
	t      *testing.T
	cmd    *exec.Cmd
	ended  chan struct{}
	stderr bytes.Buffer // to be read once it has ended
}

// work starts a worker process on queue q. What follows the flag --exec among the arguments is its command.
func (s *scene) work(args ...string) *worker {
	s.t.Helper()
	w := &worker{t: s.t, ended: make(chan struct{})}
	w.cmd = exec.CommandContext(s.t.Context(), binary, append([]string{"work", "--queue", queue}, args...)...)
	w.cmd.Env = append(os.Environ(), "WAYBILL_REDIS="+s.server.URL())
	w.cmd.Stderr = &w.stderr
	must(s.t, w.cmd.Start())
	go func() {
		defer close(w.ended)
		_ = w.cmd.Wait() // its state tells more
	}()
	s.t.Cleanup(func() {
		w.kill()
		if s.t.Failed() {
			s.t.Logf("worker %d:\n%s", w.cmd.Process.Pid, w.stderr.String())
		}
	})
	return w
}

func (w *worker) signal(sig os.Signal) {
	w.t.Helper()
	must(w.t, w.cmd.Process.Signal(sig))
}

// kill ends the worker with SIGKILL.
func (w *worker) kill() {
	_ = w.cmd.Process.Kill() // it may have ended
	<-w.ended
}

// stop ends the worker with SIGTERM, and expects it to end in order.
func (w *worker) stop() {
	w.t.Helper()
	w.signal(syscall.SIGTERM)
	<-w.ended
	if got := w.cmd.ProcessState.ExitCode(); got != 0 {
		w.t.Errorf("a worker that was told to end ended with status %d", got)
	}
}
