package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/waybillhq/waybill/internal/redistest"
)

// health asks a worker how it is; 0 where it does not answer.
func health(t *testing.T, p *process) (status int, body string) {
	t.Helper()
	addr := regexp.MustCompile(`"msg":"health is told","addr":"([^"]+)"`).FindStringSubmatch(p.stderr())
	if addr == nil {
		return 0, ""
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr[1]+"/healthz", nil)
	must(t, err)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	must(t, err)
	return answer.StatusCode, string(raw)
}

func TestWork_health(t *testing.T) {
	t.Parallel()
	t.Run("red while Redis is away, and green again", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		p := launch(t, []string{"WAYBILL_REDIS=" + s.URL()}, "work", "--queue", "q", "--health", "127.0.0.1:0", "--log-format", "json",
			"--exec", "true")
		is := func(want int, word string) func() bool {
			return func() bool {
				status, body := health(t, p)
				return status == want && strings.HasPrefix(body, word)
			}
		}
		until(t, "it is well", is(200, "ok\n"))
		s.Kill()
		until(t, "it is red", is(503, "Redis is away: "))
		s.Restart()
		until(t, "it is well again", is(200, "ok\n"))
		p.signal(syscall.SIGTERM)
		if got := p.status(); got != 0 {
			t.Errorf("status %d", got)
		}
		for line := range strings.Lines(p.stderr()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("a log that is not JSON: %s", line)
			}
		}
	})
	t.Run("red while no child is ready", func(t *testing.T) {
		t.Parallel()
		s := redistest.Start(t)
		p := launch(t, []string{"WAYBILL_REDIS=" + s.URL()}, "work", "--queue", "q=1", "--health", "127.0.0.1:0", "--log-format", "json",
			"--pipe", "sh", "-c", "echo no model >&2; exit 1")
		until(t, "it is red, and says why", func() bool {
			status, body := health(t, p)
			return status == 503 && strings.Contains(body, "no child is ready") && strings.Contains(body, "no model")
		})
	})
}
