package outbox_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

// many enters jobs, commits, and gives the answers.
func (s *stand) many(r ...waybill.Request) (out []waybill.Enqueued, err error) {
	s.t.Helper()
	if failed := s.in(func(tx *sql.Tx) error {
		out, err = s.box.EnqueueMany(s.t.Context(), tx, r)
		return nil
	}); failed != nil {
		s.t.Fatal(failed)
	}
	return out, err
}

func outcomes(out []waybill.Enqueued) string {
	var all []string
	for _, e := range out {
		all = append(all, string(e.Outcome))
	}
	return strings.Join(all, " ")
}

// other is a request with another payload.
func other(r waybill.Request) waybill.Request {
	r.Payload = append(slices.Clone(r.Payload), '!')
	return r
}

func TestOutbox_Enqueue(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		t.Run("an ID that comes again is a duplicate, for other work a conflict", func(t *testing.T) {
			a, b := request("a"), request("b")
			out, err := s.many(a, b, a, other(a))
			if got := outcomes(out); got != "accepted accepted duplicate conflict" || !errors.Is(err, waybill.ErrConflict) {
				t.Errorf("in one call: %s, %v", got, err)
			}
			out, err = s.many(other(b), a, request("c"))
			if got := outcomes(out); got != "conflict duplicate accepted" || !errors.Is(err, waybill.ErrConflict) {
				t.Errorf("in the next: %s, %v", got, err)
			}
			if n := s.rows().New; n != 3 {
				t.Errorf("%d rows", n)
			}
		})
		t.Run("a made-up ID is fixed, and when it comes again it is the same job", func(t *testing.T) {
			r := waybill.Request{Queue: "made", Kind: "k", Payload: []byte("x")}
			out, err := s.many(r, r)
			if err != nil || out[0].ID == "" || out[0].ID == out[1].ID {
				t.Errorf("%+v, %v", out, err)
			}
			fixed := r.Named()
			out, err = s.many(fixed, fixed, other(fixed))
			if got := outcomes(out); got != "accepted duplicate conflict" || out[0].ID != fixed.ID {
				t.Errorf("in one call: %s, %+v, %v", got, out, err)
			}
			if out, _ = s.many(fixed, other(fixed)); outcomes(out) != "duplicate conflict" {
				t.Errorf("in the next: %s", outcomes(out))
			}
		})
		t.Run("IDs that differ in case are different jobs", func(t *testing.T) {
			out, err := s.many(request("Case"), request("case"), request("cäse"), request("cÄse"))
			if got := outcomes(out); err != nil || got != "accepted accepted accepted accepted" {
				t.Errorf("%s, %v", got, err)
			}
		})
		t.Run("an ID and a key may have 128 bytes, and no more", func(t *testing.T) {
			long := strings.Repeat("x", 126) + "ä"
			enter := func(key, id string) error {
				return s.in(func(tx *sql.Tx) error { return s.box.EnqueueInOrder(t.Context(), tx, key, request(id)) })
			}
			if err := enter(long, long); err != nil {
				t.Error(err)
			}
			for _, c := range []struct{ key, id, field string }{
				{long + "x", "y", "key"}, {"k", long + "x", "id"}, {"", "y", "key"}, {"\xff", "y", "key"}, {"a\x00b", "y", "key"},
			} {
				if err := enter(c.key, c.id); !errors.Is(err, outbox.ErrInvalid) || !strings.Contains(err.Error(), c.field) {
					t.Errorf("key of %d bytes, ID of %d: %v", len(c.key), len(c.id), err)
				}
			}
		})
		t.Run("where one is refused nothing is entered", func(t *testing.T) {
			before := s.rows().New
			bad := request("bad")
			bad.Priority = 1001
			err := s.in(func(tx *sql.Tx) error { return s.box.Enqueue(t.Context(), tx, request("good"), bad) })
			if !errors.Is(err, outbox.ErrInvalid) || !strings.Contains(err.Error(), "priority") || s.rows().New != before {
				t.Errorf("%v, %d rows more", err, s.rows().New-before)
			}
			out, err := s.many(request("good"), bad)
			if got := outcomes(out); got != "accepted invalid" || !errors.Is(err, outbox.ErrInvalid) {
				t.Errorf("with an answer for each: %s, %v", got, err)
			}
		})
		t.Run("a time to wait for room is refused", func(t *testing.T) {
			r := request("waits")
			r.OnFull = waybill.FullWaitFor(time.Second)
			if err := s.in(func(tx *sql.Tx) error { return s.box.Enqueue(t.Context(), tx, r) }); !errors.Is(err, outbox.ErrInvalid) {
				t.Error(err)
			}
		})
		t.Run("what a transaction that is rolled back entered is not there", func(t *testing.T) {
			undone := errors.New("no")
			if err := s.in(func(tx *sql.Tx) error {
				return errors.Join(s.box.Enqueue(t.Context(), tx, request("undone")), undone)
			}); !errors.Is(err, undone) {
				t.Fatal(err)
			}
			if out, _ := s.many(request("undone")); outcomes(out) != "accepted" {
				t.Error(outcomes(out))
			}
		})
	})
}

func TestOutbox_Enqueue_large(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{MaxPayload: 8 << 20})
		large := bytes.Repeat([]byte{0, 1, 0xff, '\''}, 2<<20)
		all := []waybill.Request{{Queue: "large", Kind: "k", ID: "large", Payload: large}}
		for i := range 1000 {
			all = append(all, waybill.Request{Queue: fmt.Sprintf("q%d", i%7), Kind: "k", Payload: []byte{0, byte(i), 0xfe}})
		}
		s.enter(all...)
		if err := s.in(func(tx *sql.Tx) error {
			return s.box.Enqueue(t.Context(), tx, waybill.Request{Kind: "k", Payload: append(large, 0)})
		}); !errors.Is(err, outbox.ErrInvalid) {
			t.Errorf("a byte above the bound: %v", err)
		}
		s.relay()
		until(t, "all are sent", func() bool { return s.inState("sent") == 1001 })
		j, err := s.c.Queue("large").Get(t.Context(), "large")
		if err != nil || !bytes.Equal(j.Payload, large) {
			t.Errorf("%d bytes, %v", len(j.Payload), err)
		}
		n := int64(0)
		for i := range 7 {
			st, err := s.c.Queue(fmt.Sprintf("q%d", i)).Stats(t.Context())
			if n += st.Ready; err != nil {
				t.Error(err)
			}
		}
		if n != 1000 {
			t.Errorf("%d jobs", n)
		}
	})
}

// inState counts rows of all queues.
func (s *stand) inState(state string) (n int64) {
	s.t.Helper()
	st, err := s.box.Stats(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, q := range st.Queues {
		n += map[string]int64{"new": q.New, "sent": q.Sent, "dead": q.Dead, "ended": q.Ended, "aside": q.SetAside}[state]
	}
	return n
}
