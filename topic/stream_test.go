package topic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
	"github.com/waybillhq/waybill/topic"
)

// entries are the IDs of the stream's entries.
func (s *stand) entries() []string {
	s.t.Helper()
	all, err := s.rdb.XRange(s.t.Context(), s.prefix+":{orders}:stream", "-", "+").Result()
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, e := range all {
		out = append(out, e.ID)
	}
	return out
}

// drain works a subscription off until it has met so many events.
func (s *stand) drain(name string, n int) *log {
	s.t.Helper()
	l := newLog()
	stop := s.run(func(w *waybill.Worker) { orders.Subscribe(w, name, topic.SubscribeOptions{Concurrency: 1}, l.note) })
	l.await(s.t, n)
	if err := stop(); err != nil {
		s.t.Fatal(err)
	}
	return l
}

func TestStream_Create(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("holder")
	s.publish(1, 5)
	ids := s.entries()
	for name, c := range map[string]struct {
		from topic.Place
		want []int
	}{
		"beginning": {topic.Beginning, []int{1, 2, 3, 4, 5, 6}},
		"empty":     {"", []int{1, 2, 3, 4, 5, 6}},
		"now":       {topic.Now, []int{6}},
		"id":        {topic.Place(ids[2]), []int{3, 4, 5, 6}},
		"before":    {topic.At(time.Now().Add(-time.Hour)), []int{1, 2, 3, 4, 5, 6}},
	} {
		at, err := s.s.Create(t.Context(), name, c.from)
		if err != nil || at.Outcome != topic.Created || at.Last != 5 || at.Taken != int64(6-len(c.want)) {
			t.Errorf("%s: %+v, %v", name, at, err)
		}
		again, err := s.s.Create(t.Context(), name, topic.Now)
		if at.Outcome = topic.Exists; err != nil || again != at {
			t.Errorf("%s again: %+v, %v; want %+v", name, again, err, at)
		}
	}
	s.publish(6, 6)
	for name, want := range map[string][]int{"beginning": upTo(6), "now": {6}, "id": {3, 4, 5, 6}} {
		if got := s.drain(name, len(want)).numbers(); !slices.Equal(got, want) {
			t.Errorf("%s met %v, want %v", name, got, want)
		}
	}

	t.Run("a place ahead is refused", func(t *testing.T) {
		if _, err := s.s.Create(t.Context(), "ahead", topic.At(time.Now().Add(time.Hour))); !errors.Is(err, waybill.ErrInvalid) {
			t.Error(err)
		}
	})
	t.Run("what is no place is refused before anything is sent", func(t *testing.T) {
		for _, from := range []topic.Place{"then", "1-2-3", "-1", "1-", "99999999999999999999-0"} {
			if _, err := s.s.Create(t.Context(), "odd", from); !errors.Is(err, waybill.ErrInvalid) {
				t.Errorf("%q: %v", from, err)
			}
		}
	})
	t.Run("the 65th subscription is refused", func(t *testing.T) {
		for n := len(s.stats().Subscriptions); n < 64; n++ {
			s.create(fmt.Sprintf("more-%d", n))
		}
		if _, err := s.s.Create(t.Context(), "65", topic.Now); !errors.Is(err, waybill.ErrState) {
			t.Error(err)
		}
		s.publish(7, 7) // rings them all
		if got := s.sub("more-63"); got.Lag != 7 {
			t.Errorf("%+v", got)
		}
	})
}

func TestStream_Remove(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("mail", "other")
	s.publish(1, 4)
	s.drain("mail", 4)
	s.publish(5, 6)
	left, err := s.s.Remove(t.Context(), "mail")
	if err != nil || !left.Removed || left.Lag != 2 {
		t.Errorf("%+v, %v", left, err)
	}
	if left, err := s.s.Remove(t.Context(), "mail"); err != nil || left.Removed {
		t.Errorf("again: %+v, %v", left, err)
	}
	if got := s.sub("other"); got.Lag != 6 {
		t.Errorf("the other lost something: %+v", got)
	}
}

func TestStream_detached(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	if err := s.s.Set(t.Context(), topic.Settings{Capacity: new(int64(10)), OnFull: new(topic.FullDetach)}); err != nil {
		t.Fatal(err)
	}
	s.create("fast", "slow")
	s.publish(1, 10)
	s.drain("fast", 10)
	s.publish(11, 13) // there is no room: the slowest goes
	if got := s.sub("slow"); got.Detached.IsZero() || got.Lost != 10 || got.LostFrom != 1 || got.LostTo != 10 {
		t.Errorf("slow: %+v", got)
	}
	if got := s.sub("fast"); !got.Detached.IsZero() || got.Lag != 3 || got.Lost != 0 {
		t.Errorf("fast: %+v", got)
	}
	if at, err := s.s.Create(t.Context(), "slow", topic.Now); err != nil || at.Outcome != topic.Detached {
		t.Errorf("create: %+v, %v", at, err)
	}
	at, err := s.s.Attach(t.Context(), "slow", "")
	if err != nil || at.Outcome != topic.Attached || at.Lost != 10 {
		t.Errorf("attach: %+v, %v", at, err)
	}
	if got := s.drain("slow", 3).numbers(); !slices.Equal(got, []int{11, 12, 13}) {
		t.Errorf("slow met %v", got)
	}
	if got := s.sub("slow"); got.Lost != 10 || got.LostTo != 10 || !got.Detached.IsZero() {
		t.Errorf("slow: %+v", got)
	}
}

func TestStream_Trim(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("mail", "slow")
	s.publish(1, 10)
	ids := s.entries()
	s.drain("mail", 10)
	if n, err := s.s.Trim(t.Context(), ""); err != nil || n != 0 {
		t.Errorf("what a subscription wants was cut: %d, %v", n, err)
	}
	if n, err := s.s.Trim(t.Context(), topic.Place(ids[4])); err != nil || n != 4 {
		t.Errorf("cut %d, %v", n, err)
	}
	if got := s.sub("slow"); got.Lag != 6 || got.Lost != 4 || got.Gone != 4 || got.LostFrom != 1 || got.LostTo != 4 {
		t.Errorf("slow: %+v", got)
	}
	if got := s.drain("slow", 6).numbers(); !slices.Equal(got, []int{5, 6, 7, 8, 9, 10}) {
		t.Errorf("slow met %v", got)
	}
	if got := s.sub("slow"); got.Lost != 4 || got.Gone != 0 || got.LostAt.IsZero() {
		t.Errorf("slow: %+v", got)
	}
	if n, err := s.s.Trim(t.Context(), ""); err != nil || n+int64(len(s.entries())) > 6 || len(s.entries()) != 0 {
		t.Errorf("cut %d, %v; %v left", n, err, s.entries())
	}
}

func TestStream_Replay(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("holder", "mail")
	s.publish(1, 6)
	ids := s.entries()
	first := s.drain("mail", 6)
	born := map[string]time.Time{}
	for _, j := range first.got {
		born[j.Event] = j.BornAt
	}

	replay := func(o topic.ReplayOptions, want topic.Replayed) {
		t.Helper()
		got, err := s.s.Replay(t.Context(), "mail", o)
		if want.Last = ids[4]; err != nil || got != want {
			t.Errorf("replay: %+v, %v; want %+v", got, err, want)
		}
	}
	o := topic.ReplayOptions{ID: "r1", From: topic.Place(ids[2]), To: topic.Place(ids[4])}
	replay(o, topic.Replayed{Events: 3, Delivered: 3})
	replay(o, topic.Replayed{Events: 3, Duplicates: 3})
	second := s.drain("mail", 3)
	replay(o, topic.Replayed{Events: 3, Duplicates: 3}) // within the window
	o.ID, o.Again = "r2", true
	replay(o, topic.Replayed{Events: 3, Delivered: 3})
	third := s.drain("mail", 3)

	for i, j := range second.got {
		event := fmt.Sprintf("order-%d", 3+i)
		if j.Event != event || j.ID != "r1/"+event || j.Replay != "r1" || j.EffectID() != event || !j.BornAt.Equal(born[event]) {
			t.Errorf("%+v, born %s; the event was born %s", j.Attempt, j.BornAt, born[event])
		}
		if a, b := receipt.For(j), receipt.For(first.got[2+i]); a.ID != b.ID || a.Scope != b.Scope || !slices.Equal(a.Fingerprint, b.Fingerprint) {
			t.Errorf("receipts differ: %+v, %+v", a, b)
		}
	}
	for i, j := range third.got {
		event := fmt.Sprintf("order-%d", 3+i)
		if j.Event != event || j.EffectID() != event+"/r2" || j.Replay != "r2" {
			t.Errorf("%+v, effect %s", j.Attempt, j.EffectID())
		}
	}
	if got := s.sub("mail"); got.Lag != 0 || got.Taken != 6 {
		t.Errorf("a replay moved the place: %+v", got)
	}

	t.Run("a replay waits for room", func(t *testing.T) {
		if err := s.c.Queue("orders/mail").Set(t.Context(), waybill.QueueSettings{Capacity: new(int64(1))}); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := s.s.Replay(t.Context(), "mail", topic.ReplayOptions{ID: "r3"})
			done <- err
		}()
		l := newLog()
		s.run(func(w *waybill.Worker) { orders.Subscribe(w, "mail", topic.SubscribeOptions{}, l.note) })
		l.await(t, 6)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Run("a replay goes on as it was begun, or not at all", func(t *testing.T) {
		for id, again := range map[string]bool{"r1": true, "r2": false} {
			if _, err := s.s.Replay(t.Context(), "mail", topic.ReplayOptions{ID: id, Again: again}); !errors.Is(err, waybill.ErrState) {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
	t.Run("a bad ID is refused", func(t *testing.T) {
		for _, id := range []string{"", "a b", "a/b", string(make([]byte, 65))} {
			if _, err := s.s.Replay(t.Context(), "mail", topic.ReplayOptions{ID: id}); !errors.Is(err, waybill.ErrInvalid) {
				t.Errorf("%q: %v", id, err)
			}
		}
	})
}

func TestStream_Events(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("holder")
	s.publish(1, 250)
	var numbers []int64
	err := s.s.Events(t.Context(), "", "", func(e topic.Event) error {
		if want := fmt.Sprintf("order-%d", e.Number); e.ID != want || e.Kind != "orders" || string(e.Payload) != fmt.Sprintf(`{"Number":%d}`, e.Number) {
			t.Errorf("%+v", e)
		}
		numbers = append(numbers, e.Number)
		return nil
	})
	if err != nil || len(numbers) != 250 || numbers[0] != 1 || numbers[249] != 250 {
		t.Errorf("%d events, %v", len(numbers), err)
	}
	enough := errors.New("enough")
	if err := s.s.Events(t.Context(), "", "", func(topic.Event) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
}

func TestStream_Stats_groups(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("mail")
	stream := s.prefix + ":{orders}:stream"
	if err := s.rdb.XGroupCreate(t.Context(), stream, "theirs", "0").Err(); err != nil {
		t.Fatal(err)
	}
	s.publish(1, 3)
	got, err := s.rdb.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: "theirs", Consumer: "a", Streams: []string{stream, ">"}, Count: 2}).Result()
	if err != nil || len(got[0].Messages) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	for i, m := range got[0].Messages {
		if m.Values["n"] != fmt.Sprint(i+1) || m.Values["id"] != fmt.Sprintf("order-%d", i+1) || m.Values["payload"] != fmt.Sprintf(`{"Number":%d}`, i+1) {
			t.Errorf("fields %v", m.Values)
		}
	}
	s.drain("mail", 3)
	if n, err := s.s.Trim(t.Context(), ""); err != nil || n != 0 {
		t.Errorf("cut %d entries that a group has not acknowledged, %v", n, err)
	}
	g := s.stats().Groups
	if len(g) != 1 || g[0].Name != "theirs" || g[0].Pending != 2 || g[0].Behind != 3 || g[0].Consumers != 1 || g[0].Abandoned() {
		t.Errorf("%+v", g)
	}
	if err := s.rdb.XAck(t.Context(), stream, "theirs", got[0].Messages[0].ID, got[0].Messages[1].ID).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := s.s.Trim(t.Context(), ""); err != nil || n != 2 {
		t.Errorf("cut %d, %v", n, err)
	}
}

func TestGroupStats_Abandoned(t *testing.T) {
	t.Parallel()
	held := topic.GroupStats{Behind: 1, Oldest: 2 * time.Hour, Idle: 2 * time.Hour}
	for name, c := range map[string]struct {
		change func(*topic.GroupStats)
		want   bool
	}{
		"behind and idle for an hour":     {func(*topic.GroupStats) {}, true},
		"without consumers":               {func(g *topic.GroupStats) { g.Idle = -1 }, true},
		"not behind":                      {func(g *topic.GroupStats) { g.Behind = 0 }, false},
		"a consumer does something":       {func(g *topic.GroupStats) { g.Idle = time.Minute }, false},
		"behind since a minute":           {func(g *topic.GroupStats) { g.Oldest = time.Minute }, false},
		"the stream does not wait for it": {func(g *topic.GroupStats) { g.Ignored = time.Now() }, false},
	} {
		g := held
		c.change(&g)
		if g.Abandoned() != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}

func TestOpen_badName(t *testing.T) {
	t.Parallel()
	s := topic.Open(newStand(t).c, "a b")
	_, err := s.Stats(t.Context())
	if !errors.Is(err, waybill.ErrInvalid) {
		t.Error(err)
	}
}

func TestStream_Replay_moved(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("mail")
	s.publish(1, 1)
	if _, err := s.s.Replay(t.Context(), "mail", topic.ReplayOptions{ID: "r1", Again: true}); err != nil {
		t.Fatal(err)
	}
	mail := s.c.Queue("orders/mail")
	job, err := mail.Get(t.Context(), "r1/order-1")
	if err != nil || job.Event != "order-1" || job.Replay != "r1" || !job.Again || job.Scope != "orders/mail" {
		t.Fatalf("%+v, %v", job, err)
	}
	raw, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	var back waybill.JobInfo
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if _, err := s.c.Queue("other").Restore(t.Context(), []waybill.JobInfo{back}); err != nil {
		t.Fatal(err)
	}
	job, err = s.c.Queue("other").Get(t.Context(), "r1/order-1")
	if err != nil || job.Event != "order-1" || job.Replay != "r1" || !job.Again || job.Scope != "orders/mail" {
		t.Errorf("its effects would be repeated: %+v, %v", job, err)
	}
}
