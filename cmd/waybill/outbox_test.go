package main_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/waybillhq/waybill"
	main "github.com/waybillhq/waybill/cmd/waybill"
	"github.com/waybillhq/waybill/internal/database"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

// inTx enters jobs of queue into the outbox of a database, in one transaction.
func inTx(ctx context.Context, url, queue string, ids ...string) error {
	db, d, err := database.Open(ctx, url)
	if err != nil {
		return err
	}
	defer db.Close()
	box, err := outbox.New(db, d, outbox.Options{})
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := box.Enqueue(ctx, tx, waybill.Request{Queue: queue, Kind: "k", ID: id, Payload: []byte(id)}); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

func enter(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(inTx(context.Background(), "sqlite://"+args[0]+"/app.db", args[1], args[2:]...))
}

func change(ts *testscript.TestScript, _ bool, args []string) {
	db, _, err := database.Open(context.Background(), "sqlite://"+args[0]+"/app.db")
	ts.Check(err)
	_, err = db.ExecContext(context.Background(), args[1])
	ts.Check(errors.Join(err, db.Close()))
}

// On PostgreSQL, whose URL comes from the environment; no word of it is printed.
func TestOutbox_PostgreSQL(t *testing.T) {
	t.Parallel()
	s, d := redistest.Start(t), sqltest.Postgres(t)
	runs := []struct {
		args   string
		status int
		says   string
	}{
		{"outbox status", 1, "no outbox tables: run outbox.Migrate, or waybill migrate"},
		{"outbox relay", 1, "no outbox tables"},
		{"migrate --only outbox", 0, "outbox: step 1 (outbox) done"},
		{"migrate --only outbox", 0, "nothing to do"},
		{"outbox status", 0, "nothing was entered into this outbox yet"},
		{"enter", 0, ""},
		{"outbox status", 0, "QUEUE NEW OLDEST NEW SENT DEAD ENDED ASIDE UNREAD OLDEST UNREAD READ AGO q 2 0s 0 0 0 0 0 - -"},
		{"outbox relay --until-empty --read 10ms --listen", 0, `msg="relay stopped" sent=2 ended=0`},
		{"outbox status --check", 0, "ok q redis it knows of all that it was sent"},
		{"job delete q a", 0, ""},
		{"outbox relay --until-empty --read 10ms", 0, `msg="relay stopped" sent=0 ended=1`},
		{"outbox purge --older-than 1d --yes", 0, "0 rows purged"},
		{"outbox replay --dry-run --queue q", 0, "queue q: would do: jobs that had ended: deleted 0, cancelled 0; unfinished: sent 0, put back to the dead 0, there already 1"},
	}
	for _, c := range runs {
		if c.args == "enter" {
			must(t, inTx(t.Context(), d.URL, "q", "a", "b"))
			continue
		}
		var out, errs bytes.Buffer
		env := []string{"WAYBILL_REDIS=" + s.URL(), "WAYBILL_DATABASE=" + d.URL, "PATH=" + os.Getenv("PATH")}
		status := main.Run(strings.Fields(c.args), strings.NewReader(""), &out, &errs, env)
		both := strings.Join(strings.Fields(out.String()+errs.String()), " ")
		if status != c.status || !strings.Contains(both, c.says) || strings.Contains(both, "postgres:") {
			t.Errorf("%s: status %d\n%s", c.args, status, both)
		}
	}
}

func TestOutboxRelay(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T, redis string, flags ...string) (p *process, url string) {
		t.Helper()
		d := sqltest.SQLite(t)
		_, err := outbox.Migrate(t.Context(), d.Open(t), d.Dialect, outbox.Options{})
		must(t, err)
		p = launch(t, []string{"WAYBILL_REDIS=" + redis, "WAYBILL_DATABASE=" + d.URL}, append([]string{"outbox", "relay"}, flags...)...)
		until(t, "it has started", func() bool { return strings.Contains(p.stderr(), "relay started") })
		return p, d.URL
	}
	t.Run("carries until it is told to stop, and tells once of a failure and of the recovery", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t, redistest.AOF())
		p, url := begin(t, s.URL(), "--poll", "10ms", "--read", "50ms", "--progress", "20ms")
		says := func(text string) func() bool { return func() bool { return strings.Contains(p.stderr(), text) } }
		must(t, inTx(t.Context(), url, "q", "a"))
		until(t, "it is sent", says(`msg="carried so far" sent=1 ended=0`))
		s.Kill()
		until(t, "the failure is told", says("level=WARN"))
		s.Restart()
		until(t, "the recovery is told", says(`msg="outbox: the relay has recovered" queue=q`))
		if got := strings.Count(p.stderr(), "is tried again"); got != 1 {
			t.Errorf("one failure is told %d times", got)
		}
		p.signal(syscall.SIGTERM)
		if got := p.status(); got != 0 || !says(`msg="relay stopped" sent=1`)() {
			t.Errorf("status %d", got)
		}
	})
	t.Run("a second signal ends it at once", func(t *testing.T) {
		t.Parallel()
		silent, called := mute(t)
		p, url := begin(t, silent)
		must(t, inTx(t.Context(), url, "q", "a"))
		<-called // it waits for an answer
		p.signal(os.Interrupt)
		until(t, "it stops", func() bool { return strings.Contains(p.stderr(), "stopping: what was sent is marked") })
		p.signal(os.Interrupt)
		if got := p.status(); got != 1 || !strings.HasSuffix(p.stderr(), "which adds nothing\n") {
			t.Errorf("status %d", got)
		}
	})
}

func TestOutboxStatus_watch(t *testing.T) {
	t.Parallel()
	s, d := redistest.Start(t), sqltest.SQLite(t)
	_, err := outbox.Migrate(t.Context(), d.Open(t), d.Dialect, outbox.Options{})
	must(t, err)
	must(t, inTx(t.Context(), d.URL, "q", "a"))
	p := launch(t, []string{"WAYBILL_REDIS=" + s.URL(), "WAYBILL_DATABASE=" + d.URL}, "outbox", "status", "--interval", "20ms", "--json")
	until(t, "it is shown as it was", func() bool { return strings.Contains(p.stdout(), `"new":1,`) })
	must(t, inTx(t.Context(), d.URL, "q", "b"))
	until(t, "and as it is now", func() bool { return strings.Contains(p.stdout(), `"new":2,`) })
	p.signal(os.Interrupt)
	if got := p.status(); got != 0 || p.stderr() != "" {
		t.Errorf("status %d, %q", got, p.stderr())
	}
}
