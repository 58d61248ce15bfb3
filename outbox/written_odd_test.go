package outbox_test

import (
	"fmt"
	"testing"

	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

func TestWritten_odd(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		s := newStand(t, d, outbox.Options{})
		bad := map[string]string{
			"overflow":  `{"kind":"k","delay_ms":18446744073710}`,
			"retention": `{"kind":"k","retention_ms":18446744073710}`,
			"least":     `{"kind":"k","delay_ms":-9223372036854775808}`,
			"float":     `{"kind":"k","delay_ms":1e400}`,
			"utf8":      "{\"kind\":\"k\",\"payload\":\"\xff\"}",
			"deep":      `{"kind":"k","payload":` + deep(20_000) + `}`,
			"nul":       "{\"kind\":\"k\x00\"}",
			"far":       `{"kind":"k","at":"9999-01-01T00:00:00Z"}`,
			"header":    `{"kind":"k","headers":{"a b":"c"}}`,
			"array":     `{"kind":["k"]}`,
		}
		for id, body := range bad {
			s.write("q", id, body)
		}
		s.write("q", "empty", "")
		s.write("", "nowhere", `{"kind":"k"}`)
		for id, born := range map[string]int64{"before": -1, "never": 1 << 62} {
			s.write("q", id, `{"kind":"k","delay_ms":5}`)
			s.exec(fmt.Sprintf("UPDATE waybill_outbox SET born = %d WHERE id = '%s'", born, id))
		}
		for i := range 3 {
			s.write("q", fmt.Sprint("fine-", i), `{"kind":"k","kind":"l"}`)
		}
		s.exec("UPDATE waybill_outbox SET okey = '' WHERE id LIKE 'fine-%'")
		outbox.CarryOnce(t.Context(), s.box, s.c)
		if n := s.rows().Sent; n != 3 {
			t.Errorf("an empty key orders rows: %d of 3 are sent in a round", n)
		}
		s.relay()
		until(t, "the rest is set aside", func() bool {
			all, err := s.box.SetAside(t.Context(), 0, 100)
			return err == nil && len(all) == len(bad)+4
		})
		if n := s.told(outbox.EventFailed); n != 0 {
			t.Errorf("told of %d failures", n)
		}
	})
}

func deep(n int) string {
	b := make([]byte, 2*n)
	for i := range n {
		b[i], b[2*n-1-i] = '[', ']'
	}
	return string(b)
}

func (s *stand) exec(text string) {
	s.t.Helper()
	if _, err := s.db.ExecContext(s.t.Context(), text); err != nil {
		s.t.Fatal(err)
	}
}
