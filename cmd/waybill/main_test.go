package main_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/waybillhq/waybill"
	main "github.com/waybillhq/waybill/cmd/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// TestMain puts this test binary on the PATH under the name waybill, for scripts and processes.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"waybill": main.Main})
}

// quickExit keeps programs with the race detector from sleeping for a second when they end.
const quickExit = "atexit_sleep_ms=0"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestScripts runs testdata/*.txtar, each with a Redis of its own. Beside the usual commands they know:
//
//	status N COMMAND…       the command ends with status N
//	redis COMMAND…          sends a command to the server
//	lose N                  the proxy of $PROXY loses the replies of the next N enqueues
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	must(t, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			proxy, c := redistest.NewProxy(t, s), s.Client()
			testscript.Run(t, testscript.Params{
				Files: []string{file},
				Setup: func(env *testscript.Env) error {
					env.Setenv("GORACE", quickExit)
					env.Setenv("WAYBILL_REDIS", s.URL())
					env.Setenv("SOCKET", s.Addr())
					env.Setenv("PROXY", proxy.URL())
					return nil
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"status": status,
					"redis":  func(ts *testscript.TestScript, _ bool, args []string) { tell(ts, c, args) },
					"lose": func(ts *testscript.TestScript, _ bool, args []string) {
						n, err := strconv.Atoi(args[0])
						ts.Check(err)
						proxy.LoseReplies("reject", n) // the policy that every enqueue names
					},
				},
			})
		})
	}
}

func status(ts *testscript.TestScript, _ bool, args []string) {
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if want := args[0]; strconv.Itoa(got) != want {
		ts.Fatalf("status is %d, want %s", got, want)
	}
}

func tell(ts *testscript.TestScript, c *redis.Client, args []string) {
	var words []any
	for _, a := range args {
		words = append(words, a)
	}
	ts.Check(c.Do(context.Background(), words...).Err())
}

// ran is what a run of the program left.
type ran struct {
	out, err string
	status   int
}

// waybillOn runs the program in this process, on a server.
func waybillOn(t *testing.T, s *redistest.Server, stdin string, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	env := []string{"WAYBILL_REDIS=" + s.URL(), "PATH=" + os.Getenv("PATH")}
	status := main.Run(args, strings.NewReader(stdin), &out, &errs, env)
	return ran{out.String(), errs.String(), status}
}

// client is a client of the library, to look at what the program did.
func client(t *testing.T, s *redistest.Server) *waybill.Client {
	t.Helper()
	c, err := waybill.NewClient(s.Client(), waybill.ClientOptions{})
	must(t, err)
	return c
}

// send enqueues a job and expects it to be accepted.
func send(t *testing.T, c *waybill.Client, r waybill.Request) {
	t.Helper()
	e, err := c.Enqueue(t.Context(), r)
	if err != nil || e.Outcome != waybill.OutcomeAccepted {
		t.Fatalf("enqueue: %v, %v", e.Outcome, err)
	}
}

// job reads a job of queue q.
func job(t *testing.T, c *waybill.Client, id string) waybill.JobInfo {
	t.Helper()
	j, err := c.Queue("q").Get(t.Context(), id)
	must(t, err)
	return j
}
