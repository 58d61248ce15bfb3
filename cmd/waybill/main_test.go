package main_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/waybillhq/waybill"
	main "github.com/waybillhq/waybill/cmd/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
)

// TestMain puts this test binary on the PATH under the name waybill, for tests with processes.
func TestMain(m *testing.M) {
	logging.Disable() // as the program does
	testscript.Main(patient{m}, map[string]func(){"waybill": main.Main})
}

// patient runs more tests at a time than there are processors: they wait more than they compute.
type patient struct{ *testing.M }

func (p patient) Run() int {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err) // the flag is there
	}
	code := sqltest.Ending(p.M).Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintf(os.Stderr, "goroutines outlive the tests: %v\n", err)
		return 1
	}
	return code
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
//	status N ARGUMENT…   the program, run in this process, ends with status N
//	feed FILE            is the next run's stdin
//	redis COMMAND…       sends a command to the server
//	effect DIR QUEUE ID STEP       applies an effect of a job that is 40 days old, in DIR/app.db
//	unanswered DIR QUEUE ID STEP   makes a call that is not answered
//	enter DIR QUEUE ID…            commits a row for each ID into the outbox of DIR/app.db
//	sql DIR STATEMENT              changes DIR/app.db
//	lose N               the proxy of $PROXY loses the replies of the next N enqueues
//
// The program does not see the script's directory as its own: give paths below $WORK.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	must(t, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			sc := &script{client: s.Client(), proxy: redistest.NewProxy(t, s)}
			testscript.Run(t, testscript.Params{
				Files: []string{file},
				Setup: func(env *testscript.Env) error {
					env.Setenv("WAYBILL_REDIS", s.URL())
					env.Setenv("SOCKET", s.Addr())
					env.Setenv("PROXY", sc.proxy.URL())
					return nil
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"status": sc.status, "feed": sc.feed, "redis": sc.redis, "lose": sc.lose,
					"effect": effect, "unanswered": unanswered, "enter": enter, "sql": change,
				},
			})
		})
	}
}

// script is what a script has beside its files.
type script struct {
	client *redis.Client
	proxy  *redistest.Proxy
	stdin  string
}

func (s *script) status(ts *testscript.TestScript, _ bool, args []string) {
	var env []string
	for _, name := range []string{"WAYBILL_REDIS", "WAYBILL_DATABASE", "PATH", "HOME"} {
		env = append(env, name+"="+ts.Getenv(name))
	}
	got := main.Run(args[1:], strings.NewReader(s.stdin), ts.Stdout(), ts.Stderr(), env)
	s.stdin = ""
	if want := args[0]; strconv.Itoa(got) != want {
		ts.Fatalf("status is %d, want %s", got, want)
	}
}

func (s *script) feed(ts *testscript.TestScript, _ bool, args []string) {
	s.stdin = ts.ReadFile(args[0])
}

func (s *script) redis(ts *testscript.TestScript, _ bool, args []string) {
	var words []any
	for _, a := range args {
		words = append(words, a)
	}
	ts.Check(s.client.Do(context.Background(), words...).Err())
}

func (s *script) lose(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	s.proxy.LoseReplies("reject", n) // the policy that every enqueue names
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
