package main_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// pipeLoop is a child in the shell that is ready and does something for each job. There $t is the job's token, $line
// the job, and say settles it.
func pipeLoop(do string) string {
	return `say() { printf '{"type":"settle","token":"%s",%s}\n' "$t" "$1"; }
echo '{"type":"ready"}'
while IFS= read -r line; do
t=${line#*'"token":"'}; t=${t%%'"'*}
` + do + `
done`
}

// piped sends one job, works the queue off with a shell script as child, and gives the job.
func piped(t *testing.T, r waybill.Request, script string, flags ...string) (waybill.JobInfo, ran) {
	t.Helper()
	s := redistest.Start(t)
	c := client(t, s)
	r.Queue, r.Kind, r.ID, r.Retention = "q", "k", "id", time.Hour
	send(t, c, r)
	args := append([]string{"work", "--queue", "q=1", "--until-empty"}, flags...)
	got := waybillOn(t, s, "", append(args, "--pipe", "sh", "-c", script)...)
	if got.status != 0 {
		t.Fatalf("status %d: %s", got.status, got.err)
	}
	return job(t, c, "id"), got
}

func TestPipe_settle(t *testing.T) {
	t.Parallel()
	last := []string{"--max-failures", "1"} // else it is tried again, perhaps before the queue counts as empty
	cases := []struct {
		name, do          string
		flags             []string
		state             waybill.State
		failures, snoozes int
		result, error     string
	}{
		{
			name: "ack keeps the result as it is spelled", do: `say '"outcome":"ack","result":{ "b":9007199254740993, "a" : 1.0}'`,
			state: waybill.StateCompleted, result: `{ "b":9007199254740993, "a" : 1.0}`,
		},
		{name: "ack without a result has none", do: `say '"outcome":"ack"'`, state: waybill.StateCompleted},
		{name: "a result of null is none", do: `say '"outcome":"ack","result":null'`, state: waybill.StateCompleted},
		{
			name: "retry is a failure with its error", do: `say '"outcome":"retry","error":"no luck"'`, flags: last,
			state: waybill.StateDead, failures: 1, error: "no luck",
		},
		{
			name: "retry with a delay waits for it", do: `say '"outcome":"retry","error":"later","delay_ms":3600000'`,
			state: waybill.StateRetry, failures: 1, error: "later",
		},
		{
			name: "snooze puts the job off without a failure", do: `say '"outcome":"snooze"'`, flags: []string{"--snooze", "1h"},
			state: waybill.StateScheduled, snoozes: 1,
		},
		{name: "snooze may say how long", do: `say '"outcome":"snooze","delay_ms":3600000'`, state: waybill.StateScheduled, snoozes: 1},
		{
			name: "and a fraction does no harm", do: `say '"outcome":"snooze","delay_ms":3.5999999e6'`, state: waybill.StateScheduled, snoozes: 1,
		},
		{name: "dead is dead at once", do: `say '"outcome":"dead","error":"bad data"'`, state: waybill.StateDead, failures: 1, error: "bad data"},
		{name: "cancel ends it as cancelled", do: `say '"outcome":"cancel","error":"user is gone"'`, state: waybill.StateCancelled},
		{
			name: "an outcome that is none is a failure", do: `say '"outcome":"done"'`, flags: last, state: waybill.StateDead, failures: 1,
			error: `settle: outcome is "done": want ack, retry, snooze, dead or cancel`,
		},
		{
			name: "a negative delay is a failure", do: `say '"outcome":"snooze","delay_ms":-1'`, flags: last, state: waybill.StateDead,
			failures: 1, error: "settle: delay_ms is -1: from 0 to ",
		},
		{
			name: "a field of the wrong type is a failure", do: `say '"outcome":"snooze","delay_ms":"soon"'`, flags: last,
			state: waybill.StateDead, failures: 1, error: "settle: delay_ms is a JSON string: want float64",
		},
		{
			name: "a count of effects that is none is a failure", do: `say '"outcome":"ack","effects":1.5'`, flags: last,
			state: waybill.StateDead, failures: 1, error: "settle: effects is 1.5: a whole number from 0 to 1000",
		},
		{
			name: "so is a negative one", do: `say '"outcome":"ack","suppressed":-1'`, flags: last,
			state: waybill.StateDead, failures: 1, error: "settle: suppressed is -1: a whole number from 0 to 1000",
		},
		{
			name: "and one beyond the bound", do: `say '"outcome":"ack","mismatches":1001'`, flags: last,
			state: waybill.StateDead, failures: 1, error: "settle: mismatches is 1001: a whole number from 0 to 1000",
		},
		{
			name: "and one of the wrong type", do: `say '"outcome":"ack","effects":"one"'`, flags: last,
			state: waybill.StateDead, failures: 1, error: "settle: effects is a JSON string: want float64",
		},
		{
			name: "a settle that is no JSON is a failure", do: `say '"outcome":"ack","result":NaN'`, flags: last,
			state: waybill.StateDead, failures: 1, error: "settle is no JSON: ",
		},
		{
			name: "exit in mid-job is a failure with the end of stderr", do: `echo no luck >&2; exit 3`, flags: last,
			state: waybill.StateDead, failures: 1, error: "child ended in mid-job: exit status 3: no luck",
		},
		{
			name: "a settle just before the exit counts", do: `say '"outcome":"ack","result":1'; exit 3`,
			state: waybill.StateCompleted, result: "1",
		},
		{
			name: "a line without end just before the exit counts", do: `printf '{"type":"settle","token":"%s","outcome":"ack"}' "$t"; exit 0`,
			state: waybill.StateCompleted,
		},
		{
			name: "a child that closes its stdout is ended", do: `exec 1>&-; exec sleep 60`, flags: last, state: waybill.StateDead,
			failures: 1, error: "child closed its stdout: signal: terminated",
		},
		{
			name: "a line that is too long is a failure", do: `head -c 2000000 /dev/zero | tr '\0' x; sleep 60`, flags: last,
			state: waybill.StateDead, failures: 1, error: "child wrote a line of more than 1572864 bytes: signal: terminated",
		},
		{
			name: "a line that never ends holds nobody up", do: `printf '{"type":"settle"'; sleep 60`, flags: append(last, "--timeout", "1s"),
			state: waybill.StateDead, failures: 1, error: "attempt timed out: signal: terminated",
		},
		{
			name: "a settle with another token is ignored", do: `printf '{"type":"settle","token":"1-x.1","outcome":"dead"}\n'; say '"outcome":"ack"'`,
			state: waybill.StateCompleted,
		},
		{
			name: "a settle behind text without an end counts", do: `printf 'ten of ten '; say '"outcome":"ack"'; sleep 1`,
			flags: append(last, "--timeout", "5s"), state: waybill.StateCompleted,
		},
		{
			name: "a log that quotes one is a log", do: `echo "now {\"type\":\"settle\",\"token\":\"$t\",\"outcome\":\"dead\"} comes"; say '"outcome":"ack"'`,
			state: waybill.StateCompleted,
		},
		{name: "the first settle counts", do: `say '"outcome":"ack","result":1'; say '"outcome":"dead"'`, state: waybill.StateCompleted, result: "1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j, _ := piped(t, waybill.Request{}, pipeLoop(c.do), c.flags...)
			if j.State != c.state || j.Failures != c.failures || j.Snoozes != c.snoozes || string(j.Result) != c.result {
				t.Errorf("%s, %d failures, %d snoozes, result %q", j.State, j.Failures, j.Snoozes, j.Result)
			}
			if c.error == "" && len(j.Errors) > 0 || c.error != "" && (len(j.Errors) != 1 || !strings.HasPrefix(j.Errors[0].Message, c.error)) {
				t.Errorf("errors: %+v", j.Errors)
			}
			if left := j.DueAt.Sub(j.At); (j.Snoozes > 0 || j.State == waybill.StateRetry) && (left < 50*time.Minute || left > time.Hour) {
				t.Errorf("it is due in %v", left)
			}
			if j.State == waybill.StateCancelled && j.Reason != "user is gone" {
				t.Errorf("reason %q", j.Reason)
			}
		})
	}
}

func TestPipe_bytes(t *testing.T) {
	t.Parallel()
	t.Run("a payload that is no UTF-8 goes as base64", func(t *testing.T) {
		t.Parallel()
		j, _ := piped(t, waybill.Request{Payload: []byte("\xff\x00")}, pipeLoop(
			`case $line in *'"payload":null,"payload_base64":"/wA="'*) say '"outcome":"ack"';; *) say '"outcome":"dead"';; esac`))
		if j.State != waybill.StateCompleted {
			t.Errorf("job is %s", j.State)
		}
	})
	t.Run("one that is text goes as text", func(t *testing.T) {
		t.Parallel()
		j, _ := piped(t, waybill.Request{Payload: []byte("a<b & \"c\"\n")}, pipeLoop(
			`case $line in *'"payload":"a<b & \"c\"\n","payload_base64":null'*) say '"outcome":"ack"';; *) say '"outcome":"dead"';; esac`))
		if j.State != waybill.StateCompleted {
			t.Errorf("job is %s", j.State)
		}
	})
	t.Run("a result over the limit is dropped, and the job done", func(t *testing.T) {
		t.Parallel()
		j, _ := piped(t, waybill.Request{}, pipeLoop(`say "\"outcome\":\"ack\",\"result\":\"$(head -c 262144 /dev/zero | tr '\0' x)\""`))
		if j.State != waybill.StateCompleted || j.Result != nil || !j.ResultDropped {
			t.Errorf("%s, %d bytes, dropped %v", j.State, len(j.Result), j.ResultDropped)
		}
	})
	t.Run("a first line may begin with a byte order mark", func(t *testing.T) {
		t.Parallel()
		j, _ := piped(t, waybill.Request{}, `printf '\357\273\277'; `+pipeLoop(`say '"outcome":"ack"'`), "--ready-timeout", "5s")
		if j.State != waybill.StateCompleted {
			t.Errorf("job is %s", j.State)
		}
	})
	t.Run("other lines are logs, however many", func(t *testing.T) {
		t.Parallel()
		j, got := piped(t, waybill.Request{}, `echo before; `+pipeLoop(
			`yes 'a line of a log' | head -n 100000; echo '{"type":"info"}'; echo '{not JSON'; say '"outcome":"ack"'`))
		if n := strings.Count(got.err, "a line of a log\n"); j.State != waybill.StateCompleted || n != 100000 {
			t.Errorf("job is %s, %d lines were passed on", j.State, n)
		}
		for _, line := range []string{"before\n", "{\"type\":\"info\"}\n", "{not JSON\n"} {
			if !strings.Contains(got.err, line) {
				t.Errorf("%q is not passed on", line)
			}
		}
	})
	t.Run("a child that does not read is ended when the time is over", func(t *testing.T) {
		t.Parallel()
		big := []byte(strings.Repeat("x", 256<<10)) // a pipe holds less
		j, _ := piped(t, waybill.Request{Payload: big}, `echo '{"type":"ready"}'; exec sleep 60`, "--timeout", "1s", "--max-failures", "1")
		if j.State != waybill.StateDead || j.Errors[0].Type != "timeout" {
			t.Errorf("job is %s: %+v", j.State, j.Errors)
		}
	})
	t.Run("numbers and bytes reach the child and come back exactly", func(t *testing.T) {
		t.Parallel()
		big := `{"n":[9007199254740993,1e-7,1.0],"s":"` + strings.Repeat("é\u2028🦊", 200) + `"}`
		j, _ := piped(t, waybill.Request{Payload: []byte(big)}, pipeLoop(
			`p=${line#*'"payload":'}; p=${p%%',"payload_base64"'*}; say "\"outcome\":\"ack\",\"result\":$p"`))
		got, err := strconv.Unquote(strings.ReplaceAll(string(j.Result), `\/`, "/"))
		if err != nil || got != big {
			t.Errorf("%s, %d bytes came back as %d: %v", j.State, len(big), len(got), err)
		}
	})
}

func TestPipe_children(t *testing.T) {
	t.Parallel()
	t.Run("one child does many jobs, one after another", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		c := client(t, s)
		for range 50 {
			send(t, c, waybill.Request{Queue: "q", Kind: "k"})
		}
		starts := filepath.Join(t.TempDir(), "starts")
		got := waybillOn(t, s, "", "work", "--queue", "q=1", "--until-empty", "--pipe", "sh", "-c",
			"echo >>"+starts+"; "+pipeLoop(`say '"outcome":"ack"'`)+"; echo bye >&2")
		raw, err := os.ReadFile(starts)
		must(t, err)
		stats, err := c.Queue("q").Stats(t.Context())
		must(t, err)
		if got.status != 0 || len(raw) != 1 || stats.Completed != 50 || stats.Deliveries != 50 {
			t.Errorf("%d starts, %d completed, %d deliveries", len(raw), stats.Completed, stats.Deliveries)
		}
		if !strings.Contains(got.err, "bye\n") {
			t.Error("at the end of its stdin the child was not left to end")
		}
	})
	t.Run("the error of a job has nothing of an earlier one's stderr", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		c := client(t, s)
		send(t, c, waybill.Request{Queue: "q", Kind: "k", ID: "first"})
		send(t, c, waybill.Request{Queue: "q", Kind: "k", ID: "id"})
		waybillOn(t, s, "", "work", "--queue", "q=1", "--until-empty", "--max-failures", "1", "--pipe", "sh", "-c", pipeLoop(
			`case $line in *first*) echo early >&2; say '"outcome":"ack"';; *) echo late >&2; exit 1;; esac`))
		if j := job(t, c, "id"); len(j.Errors) != 1 || !strings.HasSuffix(j.Errors[0].Message, "exit status 1: late") {
			t.Errorf("errors: %+v", j.Errors)
		}
	})
	t.Run("nothing in a child's environment tells of a job", func(t *testing.T) {
		t.Parallel()
		s, c := held(t)
		p := launch(t, []string{"WAYBILL_REDIS=" + s.URL(), "WAYBILL_JOB_ID=another", "MINE=1"}, "work", "--queue", "q=1", "--until-empty",
			"--pipe", "sh", "-c", pipeLoop(`say "\"outcome\":\"ack\",\"result\":\"$(env | grep '^WAYBILL_\|^TRACE\|^MINE' | tr '\n' ' ')\""`))
		if got := p.status(); got != 0 {
			t.Errorf("status %d", got)
		}
		if j := job(t, c, "id"); string(j.Result) != `"MINE=1 "` {
			t.Errorf("job is %s, the child has %s", j.State, j.Result)
		}
	})
	t.Run("after a child that died another one does the next job", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		c := client(t, s)
		send(t, c, waybill.Request{Queue: "q", Kind: "k", ID: "poison"})
		for range 5 {
			send(t, c, waybill.Request{Queue: "q", Kind: "k"})
		}
		waybillOn(t, s, "", "work", "--queue", "q=1", "--until-empty", "--max-failures", "1", "--pipe", "sh", "-c", pipeLoop(
			`case $line in *poison*) kill -KILL $$;; *) say '"outcome":"ack"';; esac`))
		stats, err := c.Queue("q").Stats(t.Context())
		must(t, err)
		if stats.Completed != 5 || stats.Died != 1 || stats.Crashes != 0 || stats.Released != 0 {
			t.Errorf("%+v", stats)
		}
	})
	t.Run("progress is noted", func(t *testing.T) {
		t.Parallel()
		s, c := held(t)
		p, pid := pipeWorker(t, s, `printf '{"type":"progress","token":"%s","percent":40.8,"note":"four of ten"}\n' "$t"`)
		until(t, "it is there", func() bool { return job(t, c, "id").Progress != nil })
		goOn(t, pid)
		until(t, "the job is done", func() bool { return job(t, c, "id").State == waybill.StateCompleted })
		if note := job(t, c, "id").Progress; note.Percent != 40 || note.Note != "four of ten" {
			t.Errorf("%+v", note)
		}
		p.kill()
	})
}
