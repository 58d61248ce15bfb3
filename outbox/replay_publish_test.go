package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/receipt"
	"github.com/waybillhq/waybill/topic"
)

func events(n int) []waybill.Request {
	all := make([]waybill.Request, n)
	for i := range all {
		all[i] = event(fmt.Sprint("event-", i))
	}
	return all
}

// replayTopic replays the topic.
func (s *stand) replayTopic() (outbox.Replayed, error) {
	s.t.Helper()
	all, err := s.box.Replay(s.t.Context(), s.c, outbox.ReplayOptions{Queues: []string{address}})
	if len(all) != 1 {
		s.t.Fatalf("replayed %+v, %v", all, err)
	}
	return all[0], err
}

// subscribed works subscriptions off, with receipts, until stop is called.
func (s *stand) subscribed(r *receipt.Receipts, met func(subscription string, a *waybill.Attempt)) (stop func()) {
	s.t.Helper()
	w, err := waybill.NewWorker(s.c, waybill.WorkerOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, name := range []string{"billing", "mail"} {
		placed.Subscribe(w, name, topic.SubscribeOptions{}, func(ctx context.Context, job *waybill.Job[[]byte]) error {
			met(name, job.Attempt)
			_, err := r.Do(ctx, receipt.ForAttempt(job.Attempt), func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, "INSERT INTO effect VALUES ('"+name+"/"+job.ID+"')")
				return err
			})
			return err
		})
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := w.Run(ctx); err != nil {
			s.t.Errorf("worker: %v", err)
		}
	})
	return func() {
		cancel()
		all.Wait()
	}
}

func TestReplay_events(t *testing.T) {
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
		const n = 20
		var mu sync.Mutex
		met, latest := map[string]int{}, time.Time{} // deliveries; the latest birth
		meet := func(subscription string, a *waybill.Attempt) {
			mu.Lock()
			defer mu.Unlock()
			met[subscription]++
			if a.BornAt.After(latest) {
				latest = a.BornAt
			}
		}
		metAll := func(want int) func() bool {
			return func() bool {
				mu.Lock()
				defer mu.Unlock()
				return met["billing"] == want && met["mail"] == want
			}
		}
		stop := s.subscribed(r, meet)
		s.publish(events(n)...)
		s.enter(request("job"))
		s.relay()
		until(t, "all are delivered", metAll(n))
		until(t, "all rows are marked", func() bool { return s.of(address).Sent == n && s.of("q").Sent == 1 })
		stop()
		born := latest

		if err := s.rdb.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		until(t, "the loss is noticed", func() bool { return !s.of(address).LostAt.IsZero() && !s.of("q").LostAt.IsZero() })
		all, err := s.box.Replay(t.Context(), s.c, outbox.ReplayOptions{})
		if !errors.Is(err, waybill.ErrNoSubscription) || len(all) != 2 || !all[0].Done || all[1].Done || all[1].Held == "" || all[1].Sent != 0 {
			t.Fatalf("before there are subscriptions: %+v, %v", all, err)
		}
		if s.of(address).LostAt.IsZero() || !s.of("q").LostAt.IsZero() {
			t.Error("the topic is found, or the queue is not")
		}
		stop = s.subscribed(r, meet)
		defer stop()
		until(t, "the subscriptions are there", func() bool { return len(s.topic().Subscriptions) == 2 })
		said, err := s.replayTopic()
		if err != nil || !said.Done || said.Sent != n || said.Known+said.SetAside+said.Buried != 0 {
			t.Fatalf("%+v, %v", said, err)
		}
		until(t, "all are delivered again", metAll(2*n))
		if latest.After(born) {
			t.Errorf("an event that was replayed is younger than its row: %s, not %s", latest, born)
		}
		s.publish(event("later"))
		until(t, "the relay goes on", metAll(2*n+1))
		var effects, different int
		until(t, "no job is left", func() bool {
			st := s.topic()
			return len(st.Subscriptions) == 2 && st.Subscriptions[0].Active+st.Subscriptions[1].Active+st.Subscriptions[0].Retry+st.Subscriptions[1].Retry == 0
		})
		row := s.db.QueryRowContext(t.Context(), "SELECT count(*), count(DISTINCT id) FROM effect")
		if err := row.Scan(&effects, &different); err != nil || effects != 2*(n+1) || different != effects {
			t.Errorf("%d effects, %d different ones, of %d events in two subscriptions, %v", effects, different, n+1, err)
		}
		if said, err := s.replayTopic(); err != nil || !said.Done || said.Sent+said.Known != 0 || s.topic().Accepted != n+1 {
			t.Errorf("a replay where nothing is lost: %+v, %v, accepted %d", said, err, s.topic().Accepted)
		}
	})
}

func TestReplay_eventsOfAnOlderCopy(t *testing.T) {
	t.Parallel()
	for _, d := range []*sqltest.Database{sqltest.SQLite(t), sqltest.Postgres(t), sqltest.MariaDB(t)} {
		t.Run(string(d.Dialect), func(t *testing.T) {
			t.Parallel()
			s, server := newStandAlone(t, d)
			s.subscription("billing")
			all := events(10)
			s.publish(all[:4]...)
			stop := s.relay()
			until(t, "the first are published", func() bool { return s.of(address).Sent == 4 })
			restore := s.keep(server)
			s.publish(all[4:]...)
			until(t, "all are published", func() bool { return s.of(address).Sent == 10 })
			stop()
			restore()
			until(t, "redis answers", func() bool { return s.rdb.Ping(t.Context()).Err() == nil })
			taken := event("event-9")
			taken.Payload = []byte("other")
			if _, err := s.c.Enqueue(t.Context(), taken); err != nil {
				t.Fatal(err)
			}
			room := int64(7)
			if err := placed.Stream(s.c).Set(t.Context(), topic.Settings{Capacity: &room}); err != nil {
				t.Fatal(err)
			}
			dry, err := s.box.Replay(t.Context(), s.c, outbox.ReplayOptions{Queues: []string{address}, DryRun: true})
			if err != nil || dry[0].Sent != 10 || s.topic().Accepted != 5 {
				t.Errorf("the dry run: %+v, %v", dry, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			if _, err := s.box.Replay(ctx, s.c, outbox.ReplayOptions{Queues: []string{address}}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a full topic is not waited for: %v", err)
			}
			if s.of(address).LostAt.IsZero() {
				t.Error("a replay that was broken off has not noted the loss")
			}
			room = 100
			if err := placed.Stream(s.c).Set(t.Context(), topic.Settings{Capacity: &room}); err != nil {
				t.Fatal(err)
			}
			said, err := s.replayTopic()
			if err != nil || !said.Done || said.Known+said.Sent != 9 || said.SetAside > 1 || s.topic().Accepted != 10 {
				t.Errorf("%+v, %v, accepted %d", said, err, s.topic().Accepted)
			}
			if r := s.of(address); r.Sent != 9 || r.SetAside != 1 || !r.LostAt.IsZero() {
				t.Errorf("then: %+v", r)
			}
		})
	}
}
