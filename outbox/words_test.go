package outbox_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/boundary"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

// The word of a row that was set aside waits: with it the queue still knows the job when the row is sent again.
func TestRelay_wordOfSetAside(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		s.enter(requests(2)...)
		s.relay()
		until(t, "both are sent", func() bool { return s.rows().Sent == 2 })
		if _, err := s.db.ExecContext(t.Context(), "UPDATE waybill_outbox SET state = 5 WHERE id = 'job-0'"); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if err := s.c.Queue("q").Delete(t.Context(), fmt.Sprint("job-", i), waybill.DeleteOptions{Forget: true}); err != nil {
				t.Fatal(err)
			}
		}
		until(t, "the other has ended", func() bool { r := s.rows(); return r.Ended == 1 && r.Unread == 1 })
		if r := s.rows(); r.Strangers != 0 || r.SetAside != 1 {
			t.Errorf("%+v", r)
		}
		if n, err := s.box.Retry(t.Context(), "q", "job-0"); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		until(t, "it has ended too", func() bool { r := s.rows(); return r.Ended == 2 && r.Unread == 0 })
		if st := s.stats(); st.Accepted != 2 {
			t.Errorf("%d jobs were accepted", st.Accepted)
		}
	})
}

// A row that was sent by a relay that died before it marked it, whose job has ended and left every memory of the queue but the
// word, is not sent again.
func TestRelay_wordIsMemory(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		s.enter(request("a"))
		dead := errors.New("dead")
		s.dying(boundary.With(t.Context(), func(name string) {
			if name == "answer read" {
				panic(dead)
			}
		}), dead)
		if err := s.c.Queue("q").Delete(t.Context(), "a", waybill.DeleteOptions{Forget: true}); err != nil {
			t.Fatal(err)
		}
		outbox.CarryOnce(t.Context(), s.box, s.c)
		if st := s.stats(); st.Accepted != 1 || st.Ready != 0 || s.rows().Sent != 1 {
			t.Errorf("accepted %d, ready %d, %+v", st.Accepted, st.Ready, s.rows())
		}
		s.relay()
		until(t, "its row has ended", func() bool { r := s.rows(); return r.Ended == 1 && r.Unread == 0 })
	})
}

func TestOutbox_DropStrangers(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		const n = 1300 // more than a page
		s.enter(requests(n)...)
		stop := s.relay()
		until(t, "all are sent", func() bool { return s.rows().Sent == n })
		stop()
		for i := range n {
			if err := s.c.Queue("q").Cancel(t.Context(), fmt.Sprint("job-", i), ""); err != nil {
				t.Fatal(err)
			}
		}
		s.exec("DELETE FROM waybill_outbox WHERE id <> 'job-7'")
		for _, want := range []int64{n - 1, 0} {
			if got, err := s.box.DropStrangers(t.Context(), s.c, "q"); got != want || err != nil {
				t.Errorf("%d words were taken away, not %d: %v", got, want, err)
			}
		}
		s.relay()
		until(t, "the word of a job that has a row is read", func() bool { r := s.rows(); return r.Ended == 1 && r.Unread == 0 })
		if got := s.rows().Strangers; got != 0 {
			t.Errorf("%d strangers", got)
		}
		if _, err := s.box.DropStrangers(t.Context(), s.c, "nowhere"); !errors.Is(err, outbox.ErrInvalid) {
			t.Errorf("of a queue that has nothing: %v", err)
		}
		if _, err := s.box.DropStrangers(t.Context(), nil, "q"); !errors.Is(err, outbox.ErrInvalid) {
			t.Errorf("without a client: %v", err)
		}
		s.exec("UPDATE waybill_outbox_queue SET sent = 5000")
		if _, err := s.box.DropStrangers(t.Context(), s.c, "q"); !errors.Is(err, outbox.ErrLost) {
			t.Errorf("where Redis lost data: %v", err)
		}
	})
}
