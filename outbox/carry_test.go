package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/boundary"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

// relayIn runs a relay in a context, which may have a hook.
func (s *stand) relayIn(ctx context.Context) (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		if err := s.box.Relay(ctx, s.c); err != nil {
			s.t.Errorf("relay: %v", err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		all.Wait()
	})
	s.t.Cleanup(stop)
	return stop
}

// frozen runs a relay that stands still when it comes to a point the first time, until it is freed.
func (s *stand) frozen(point string) (stands <-chan struct{}, free func()) {
	s.t.Helper()
	at, freed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	stop := s.relayIn(boundary.With(s.t.Context(), func(name string) {
		if name == point {
			once.Do(func() {
				close(at)
				<-freed
			})
		}
	}))
	free = sync.OnceFunc(func() {
		close(freed)
		stop()
	})
	s.t.Cleanup(free)
	return at, free
}

// sentIDs are the jobs of queue q in the order in which they wait.
func (s *stand) sentIDs() (ids []string) {
	s.t.Helper()
	for j, err := range s.c.Queue("q").Jobs(s.t.Context(), waybill.Filter{States: []waybill.State{waybill.StateReady}}) {
		if err != nil {
			s.t.Fatal(err)
		}
		ids = append(ids, j.ID)
	}
	return ids
}

func TestRelay_order(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		const keys, each = 40, 5
		for k := range each {
			if err := s.in(func(tx *sql.Tx) error {
				var all error
				for key := range keys {
					all = errors.Join(all, s.box.EnqueueInOrder(t.Context(), tx, fmt.Sprint(key), request(fmt.Sprintf("%d-%d", key, k))))
				}
				return all
			}); err != nil {
				t.Fatal(err)
			}
		}
		// Two relays die, one with its rows unsent and one with them unmarked; three carry on.
		for _, point := range []string{"rows locked", "answer read"} {
			ctx, cancel := context.WithCancelCause(t.Context())
			dead := errors.New("dead")
			dies := boundary.With(ctx, func(name string) {
				if name == point {
					panic(dead)
				}
			})
			func() {
				defer cancel(nil)
				s.dying(dies, dead)
			}()
		}
		for range 3 {
			s.relay()
		}
		until(t, "all are sent", func() bool { return s.inState("sent") == keys*each })
		last, ids := map[string]string{}, s.sentIDs()
		for _, id := range ids {
			key, n, _ := strings.Cut(id, "-")
			if n <= last[key] {
				t.Errorf("%s came after %s", id, last[key])
			}
			last[key] = n
		}
		if st := s.stats(); len(ids) != keys*each || st.Accepted != keys*each {
			t.Errorf("%d jobs wait, %d were accepted", len(ids), st.Accepted)
		}
	})
}

// dying does a round of a relay that panics with dead, as one that is killed there.
func (s *stand) dying(ctx context.Context, dead error) {
	s.t.Helper()
	defer func() {
		if p := recover(); p != dead { //nolint:errorlint // the very value
			s.t.Errorf("panicked with %v", p)
		}
	}()
	outbox.CarryOnce(ctx, s.box, s.c)
}

func TestRelay_racing(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		const n = 600
		for i := range 3 {
			all := requests(n)
			s.enter(all[i*n/3 : (i+1)*n/3]...)
			s.relay()
		}
		var ran sync.Map
		var twice atomic.Int64
		s.work(func(_ context.Context, a *waybill.Attempt) error {
			if _, again := ran.LoadOrStore(a.ID, true); again {
				twice.Add(1)
			}
			return nil
		})
		for range 3 { // relays come and go
			stop := s.relay()
			time.AfterFunc(time.Second, stop)
		}
		until(t, "all have ended", func() bool { return s.inState("ended") == n })
		if st := s.stats(); st.Accepted != n || st.Completed != n || twice.Load() != 0 {
			t.Errorf("accepted %d, completed %d, %d twice", st.Accepted, st.Completed, twice.Load())
		}
		if s.told(outbox.EventLost) != 0 || s.told(outbox.EventSetAside) != 0 {
			t.Errorf("told of %d losses, %d set aside", s.told(outbox.EventLost), s.told(outbox.EventSetAside))
		}
	})
}

func TestRelay_full(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		room := int64(2)
		if err := s.c.Queue("full").Set(t.Context(), waybill.QueueSettings{Capacity: &room}); err != nil {
			t.Fatal(err)
		}
		var all []waybill.Request
		for range 2000 {
			all = append(all, waybill.Request{Queue: "full", Kind: "k"})
		}
		s.enter(all...)
		s.relay()
		until(t, "the queue is full", func() bool { return s.told(outbox.EventFull) == 1 })
		s.enter(requests(10)...)
		began := time.Now()
		until(t, "the free one is served", func() bool { return s.rows().Sent == 10 })
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("after %s", took)
		}
		room = 500
		if err := s.c.Queue("full").Set(t.Context(), waybill.QueueSettings{Capacity: &room}); err != nil {
			t.Fatal(err)
		}
		until(t, "the full one goes on", func() bool { return s.inState("sent") == 510 })
		if n := s.inState("aside"); n != 0 {
			t.Errorf("%d set aside", n)
		}
		spilled := waybill.Request{Queue: "full", Kind: "k", ID: "spilled", OnFull: waybill.FullSpill}
		room = 400
		if err := s.c.Queue("spill").Set(t.Context(), waybill.QueueSettings{Capacity: new(int64)}); err != nil {
			t.Fatal(err)
		}
		spilled.Queue = "spill"
		s.enter(spilled)
		until(t, "and what may be spilled is", func() bool {
			st, err := s.c.Queue("spill").Stats(t.Context())
			return err == nil && st.Spilled == 1
		})
	})
}

func TestRelay_setAside(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		for _, r := range []waybill.Request{other(request("other-work")), request("another-way")} {
			if _, err := s.c.Enqueue(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		s.enter(request("other-work"), request("another-way"), request("newer"), request("damaged"), request("good"))
		for id, body := range map[string]string{"newer": "9 of a later version", "damaged": "1?"} {
			if d.Dialect == outbox.PostgreSQL {
				body = "convert_to('" + body + "', 'UTF8')"
			} else {
				body = "'" + body + "'"
			}
			if _, err := s.db.ExecContext(t.Context(), "UPDATE waybill_outbox SET body = "+body+" WHERE id = '"+id+"'"); err != nil {
				t.Fatal(err)
			}
		}
		s.relay()
		until(t, "four are set aside and one is sent", func() bool { r := s.rows(); return r.SetAside == 4 && r.Sent == 1 })
		aside, err := s.box.SetAside(t.Context(), 0, 10)
		if err != nil || len(aside) != 4 || s.told(outbox.EventSetAside) != 4 {
			t.Fatalf("%+v, %v, told %d", aside, err, s.told(outbox.EventSetAside))
		}
		for _, a := range aside {
			want := map[string]string{"newer": "newer", "damaged": "damaged"}[a.ID]
			if want == "" {
				want = waybill.ErrConflict.Error()
			}
			if !strings.Contains(a.Reason, want) || a.Queue != "q" || time.Since(a.EnteredAt) > time.Minute {
				t.Errorf("%+v does not say %q", a, want)
			}
		}
		if rest, err := s.box.SetAside(t.Context(), aside[1].Seq, 1); err != nil || !slices.Equal(rest, aside[2:3]) {
			t.Errorf("a page is %+v, %v", rest, err)
		}
		if err := s.c.Queue("q").Delete(t.Context(), "another-way", waybill.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if n, err := s.box.Retry(t.Context(), "q", "another-way"); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		until(t, "it is sent when the way is free, or known", func() bool { return s.rows().SetAside == 3 })
		if n, err := s.box.Retry(t.Context(), "", ""); n != 3 || err != nil {
			t.Errorf("all: %d, %v", n, err)
		}
		until(t, "the others are set aside again", func() bool { return s.rows().SetAside == 3 && s.told(outbox.EventSetAside) == 7 })
	})
}
