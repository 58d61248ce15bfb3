package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/receipt"
)

// newStandAlone is a stand with a Redis of its own, which can lose its data.
func newStandAlone(t *testing.T, d *sqltest.Database) (*stand, *redistest.Server) {
	t.Helper()
	server := redistest.Start(t)
	return newStandOn(t, d, outbox.Options{}, server.Client(), ""), server
}

// keep gives a copy of what Redis has, and what brings it back.
func (s *stand) keep(server *redistest.Server) (restore func()) {
	s.t.Helper()
	if err := s.rdb.Save(s.t.Context()).Err(); err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(server.Dir(), "dump.rdb")
	dump, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	return func() {
		s.t.Helper()
		server.Kill()
		if err := os.WriteFile(file, dump, 0o666); err != nil {
			s.t.Fatal(err)
		}
		server.Restart()
	}
}

// replay replays one queue.
func (s *stand) replay(o outbox.ReplayOptions) outbox.Replayed {
	s.t.Helper()
	all, err := s.box.Replay(s.t.Context(), s.c, o)
	if err != nil || len(all) != 1 {
		s.t.Fatalf("replayed %+v, %v", all, err)
	}
	return all[0]
}

func (s *stand) state(id string) waybill.State {
	s.t.Helper()
	j, err := s.c.Queue("q").Get(s.t.Context(), id)
	if errors.Is(err, waybill.ErrNotFound) {
		return ""
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return j.State
}

func TestReplay_wiped(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s, _ := newStandAlone(t, d)
		_, err := receipt.Migrate(t.Context(), s.db, d.Dialect, receipt.Options{})
		if err == nil {
			_, err = s.db.ExecContext(t.Context(), "CREATE TABLE effect (id varchar(99) NOT NULL)")
		}
		r, made := receipt.New(s.db, d.Dialect, receipt.Options{})
		if err = errors.Join(err, made); err != nil {
			t.Fatal(err)
		}
		const n = 200
		s.enter(requests(n)...)
		s.relay()
		until(t, "all are sent", func() bool { return s.rows().New == 0 })
		s.work(func(ctx context.Context, a *waybill.Attempt) error {
			_, err := r.Do(ctx, receipt.ForAttempt(a), func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, "INSERT INTO effect VALUES ('"+a.ID+"')")
				return err
			})
			return err
		})
		until(t, "some have ended", func() bool { return s.rows().Ended > 20 })
		if err := s.rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		until(t, "the loss is noticed", func() bool { return !s.rows().LostAt.IsZero() })
		s.enter(request("meanwhile"))
		said := s.replay(outbox.ReplayOptions{})
		if !said.Done || said.Buried+said.Cancelled+said.Dead+said.SetAside != 0 {
			t.Errorf("%+v", said)
		}
		until(t, "all jobs finish", func() bool { return s.rows().Ended == n+1 })
		var all, different int
		row := s.db.QueryRowContext(t.Context(), "SELECT count(*), count(DISTINCT id) FROM effect")
		if err := row.Scan(&all, &different); err != nil || all != n+1 || different != n+1 {
			t.Errorf("%d effects of %d jobs, %v", all, different, err)
		}
		if st := s.stats(); st.PausedBy != "" || s.told(outbox.EventLost) != 1 {
			t.Errorf("paused by %q, told of %d losses", st.PausedBy, s.told(outbox.EventLost))
		}
	})
}

func TestReplay_olderCopy(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s, server := newStandAlone(t, d)
		s.enter(request("done-later"), request("deleted-later"), request("dead-both"), request("requeued-later"), request("dies-later"),
			request("waits"), waybill.Request{Queue: "calm", Kind: "k", ID: "calm"})
		stop := s.relay()
		until(t, "all are sent", func() bool { return s.inState("sent") == 7 })
		s.workOn(map[string]error{"dead-both": errNo, "requeued-later": errNo})
		until(t, "two are dead", func() bool { return s.rows().Dead == 2 && s.rows().Unread == 0 })
		restore := s.keep(server)

		s.enter(request("sent-later"), request("sent-and-dead"))
		until(t, "two more are sent", func() bool { return s.inState("new") == 0 })
		if err := errors.Join(
			s.c.Queue("q").Delete(t.Context(), "deleted-later", waybill.DeleteOptions{}),
			s.c.Queue("q").Requeue(t.Context(), "requeued-later"),
		); err != nil {
			t.Fatal(err)
		}
		s.workOn(map[string]error{"done-later": nil, "requeued-later": nil, "dies-later": errNo, "sent-and-dead": errNo})
		until(t, "all is known", func() bool { r := s.rows(); return r.Ended == 3 && r.Dead == 3 && r.Unread == 0 })
		restore()
		began := time.Now()
		until(t, "the loss is noticed without anything being sent", func() bool { return !s.rows().LostAt.IsZero() })
		t.Logf("noticed %s after the server answered again", time.Since(began))
		s.enter(request("meanwhile"), waybill.Request{Queue: "calm", Kind: "k", ID: "calm-2"})
		until(t, "a queue that lost nothing goes on", func() bool { return s.inState("new") == 1 })
		if n := s.rows().New; n != 1 || s.told(outbox.EventLost) != 1 {
			t.Errorf("%d rows wait, told of %d losses", n, s.told(outbox.EventLost))
		}
		if err := firstLost(s); !errors.Is(err, outbox.ErrLost) {
			t.Errorf("stats say %v", err)
		}
		s.replayOlderCopy()
		stop()
	})
}

func firstLost(s *stand) error {
	st, err := s.box.Stats(s.t.Context())
	return errors.Join(err, st.Lost())
}

// replayOlderCopy replays what TestReplay_olderCopy has lost, broken off at each step and begun again.
func (s *stand) replayOlderCopy() {
	s.t.Helper()
	if err := s.c.Queue("calm").Pause(s.t.Context(), "somebody"); err != nil {
		s.t.Fatal(err)
	}
	before := s.rows()
	dry := s.replay(outbox.ReplayOptions{DryRun: true})
	want := outbox.Replayed{Queue: "q", Buried: 3, Sent: 1, Dead: 1, Known: 3}
	if dry != want || s.rows().Sent != before.Sent || s.stats().PausedBy != "" {
		s.t.Errorf("the dry run says %+v, not %+v; paused by %q", dry, want, s.stats().PausedBy)
	}
	broken := errors.New("broken off")
	ctx, cancel := context.WithCancelCause(s.t.Context())
	_, err := s.box.Replay(ctx, s.c, outbox.ReplayOptions{Told: func(outbox.Replayed) { cancel(broken) }})
	if err == nil || s.stats().PausedBy == "" {
		s.t.Errorf("broken off: %v, paused by %q", err, s.stats().PausedBy)
	}
	real := s.replay(outbox.ReplayOptions{})
	if real.Buried != 0 || real.Sent != 1 || real.Dead != 1 || real.Known != 3 || !real.Done {
		s.t.Errorf("after it was broken off when it had buried: %+v", real)
	}
	for id, want := range map[string]waybill.State{
		"done-later": "", "requeued-later": "", "dead-both": waybill.StateDead, "dies-later": waybill.StateReady,
		"waits": waybill.StateReady, "sent-later": waybill.StateReady, "sent-and-dead": waybill.StateDead,
	} {
		if got := s.state(id); got != want && !(want == "" && (got == waybill.StateCompleted || got == waybill.StateDeleted)) {
			s.t.Errorf("%s is %q, not %q", id, got, want)
		}
	}
	if got := s.state("deleted-later"); got == waybill.StateReady {
		s.t.Error("a deleted job returned")
	}
	if err := s.c.Queue("q").Requeue(s.t.Context(), "sent-and-dead"); err != nil {
		s.t.Error(err)
	}
	until(s.t, "what waited meanwhile is sent", func() bool { return s.rows().New == 0 })
	s.workOn(map[string]error{"sent-and-dead": nil, "dies-later": nil, "waits": nil, "sent-later": nil, "meanwhile": nil})
	until(s.t, "all has ended", func() bool { r := s.rows(); return r.Ended == 8 && r.Dead == 1 })
	again := s.replay(outbox.ReplayOptions{Queues: []string{"q"}})
	if again.Buried+again.Cancelled+again.Sent+again.Dead+again.SetAside != 0 || again.Known != 1 {
		s.t.Errorf("a replay where nothing is lost: %+v", again)
	}
	calm := s.replay(outbox.ReplayOptions{Queues: []string{"calm"}})
	st, err := s.c.Queue("calm").Stats(s.t.Context())
	if err != nil || st.PausedBy != "somebody" || !calm.Done || calm.Known != 2 {
		s.t.Errorf("a queue that somebody had paused: %+v, paused by %q, %v", calm, st.PausedBy, err)
	}
	if s.told(outbox.EventLost) != 1 {
		s.t.Errorf("told of %d losses", s.told(outbox.EventLost))
	}
}

var errNo = errors.New("it fails")

// workOn runs jobs of queue q until those have ended: the others are left as they were.
func (s *stand) workOn(ends map[string]error) {
	s.t.Helper()
	w, err := waybill.NewWorker(s.c, waybill.WorkerOptions{Queues: []waybill.QueueOptions{{Name: "q"}}, Grace: 50 * time.Millisecond})
	if err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan string, len(ends))
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	w.HandleFunc(waybill.AnyKind, waybill.KindOptions{MaxFailures: 1}, func(ctx context.Context, a *waybill.Attempt) ([]byte, error) {
		end, mine := ends[a.ID]
		if !mine {
			<-ctx.Done() // it is released when the worker stops
			return nil, ctx.Err()
		}
		ended <- a.ID
		return nil, end
	})
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	for range ends {
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			s.t.Fatal("the jobs do not run")
		}
	}
	cancel()
	if err := <-done; err != nil {
		s.t.Error(err)
	}
}
