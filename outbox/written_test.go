package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

// write enters a row as a program in another language does.
func (s *stand) write(queue, id, body string) {
	s.t.Helper()
	text := "INSERT INTO waybill_outbox (q, id, body) VALUES (?, ?, ?)"
	if s.d.Dialect == outbox.PostgreSQL {
		text = "INSERT INTO waybill_outbox (q, id, body) VALUES ($1, $2, $3)"
	}
	if _, err := s.db.ExecContext(s.t.Context(), text, queue, id, []byte(body)); err != nil {
		s.t.Fatal(err)
	}
}

func TestWritten(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		before := time.Now()
		s.write("q", "plain", `{"kind": "k", "payload": {"n": 1.50}}`)
		s.write("q", "all", `{"kind":"k","payload":"text","headers":{"tenant":"7"},"priority":5,"max_failures":3,"retention_ms":60000,"version":2}`)
		s.write("q", "bytes", `{"kind":"k","payload_base64":"AP8="}`)
		s.write("q", "later", `{"kind":"k","delay_ms":3600000}`)
		s.write("q", "at", `{"kind":"k","at":"2100-01-01T00:00:00Z"}`)
		bad := map[string]string{
			"no kind": `{}`, "unknown": `{"kind":"k","prioritty":1}`, "cut": `{"kind":"k"`, "two": `{"kind":"k"} {}`,
			"priority": `{"kind":"k","priority":2000}`, "both": `{"kind":"k","payload":1,"payload_base64":"AA=="}`,
			"on full": `{"kind":"k","on_full":"reject"}`, "negative": `{"kind":"k","delay_ms":-1}`,
		}
		for id, body := range bad {
			s.write("q", strings.ReplaceAll(id, " ", "-"), body)
		}
		s.write("q", "a b", `{"kind":"k"}`)
		s.write("no queue", "x", `{"kind":"k"}`)
		again := func(payload string) error {
			r := waybill.Request{Queue: "q", Kind: "k", ID: "plain", Payload: []byte(payload)}
			return s.in(func(tx *sql.Tx) error { return s.box.Enqueue(t.Context(), tx, r) })
		}
		if err := again(`{"n": 1.50}`); err != nil {
			t.Errorf("the same work entered by Go: %v", err)
		}
		if err := again(`{"n": 2}`); !errors.Is(err, outbox.ErrConflict) {
			t.Errorf("other work of the same ID entered by Go: %v", err)
		}
		s.relay()
		until(t, "what can be sent is sent", func() bool { return s.rows().Sent == 5 })
		until(t, "the rest is set aside", func() bool {
			all, err := s.box.SetAside(t.Context(), 0, 100)
			return err == nil && len(all) == len(bad)+2
		})
		job := func(id string) waybill.JobInfo {
			j, err := s.c.Queue("q").Get(context.Background(), id)
			if err != nil {
				t.Fatalf("job %s: %v", id, err)
			}
			return j
		}
		if j := job("plain"); string(j.Payload) != `{"n": 1.50}` || j.State != waybill.StateReady {
			t.Errorf("plain: %s, %s", j.Payload, j.State)
		}
		j := job("all")
		if string(j.Payload) != "text" || j.Headers["tenant"] != "7" || j.Priority != 5 || j.MaxFailures != 3 ||
			j.Retention != time.Minute {
			t.Errorf("all: %+v", j)
		}
		if j := job("bytes"); string(j.Payload) != "\x00\xff" {
			t.Errorf("bytes: %q", j.Payload)
		}
		if due := job("later").DueAt; due.Before(before.Add(time.Hour-time.Minute)) || due.After(time.Now().Add(time.Hour+time.Minute)) {
			t.Errorf("due %s, an hour from %s was asked", due, before)
		}
		if due := job("at").DueAt; due.UTC().Year() != 2100 {
			t.Errorf("due %s", due)
		}
	})
}
