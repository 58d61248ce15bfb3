package main_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// mute is the URL of a Redis that takes connections and never answers; called tells of each.
func mute(t *testing.T) (url string, called <-chan struct{}) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(t.TempDir(), "s"))
	must(t, err)
	t.Cleanup(func() { l.Close() })
	calls := make(chan struct{}, 100)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			calls <- struct{}{}
		}
	}()
	return "unix://" + l.Addr().String(), calls
}

func TestMuteRedis(t *testing.T) {
	t.Parallel()
	t.Run("a drain ends in its time", func(t *testing.T) {
		t.Parallel()
		url, _ := mute(t)
		began := time.Now()
		p := launch(t, []string{"WAYBILL_REDIS=" + url}, "queue", "drain", "q", "--timeout", "1s", "--json")
		if got, took := p.status(), time.Since(began); got != 8 || took > 4*time.Second {
			t.Errorf("status %d after %s: %s", got, took, p.stderr())
		}
		if !strings.HasPrefix(p.stdout(), `{"error":"timeout","message":"not drained: Redis did not tell within 1s`) {
			t.Errorf("%s", p.stdout())
		}
	})
	for _, args := range []string{"job list q", "queue stats q", "queue purge q --state ready --yes", "worker list", "audit"} {
		t.Run(args+", interrupted, says so and blames no Redis", func(t *testing.T) {
			t.Parallel()
			url, called := mute(t)
			p := launch(t, []string{"WAYBILL_REDIS=" + url}, strings.Fields(args)...)
			<-called
			p.signal(os.Interrupt)
			if got := p.status(); got != 1 || p.stderr() != "waybill: interrupted\n" {
				t.Errorf("status %d: %s", got, p.stderr())
			}
		})
	}
}

func TestNoRights(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.TCP())
	c := client(t, s)
	send(t, c, waybill.Request{Queue: "q", Kind: "k", ID: "id"})
	rule := []any{"ACL", "SETUSER", "few", "on", ">pw", "~*", "&*", "+@all", "-time", "-hscan"}
	must(t, s.Client().Do(t.Context(), rule...).Err())
	env := "WAYBILL_REDIS=" + strings.Replace(s.URL(), "redis://", "redis://few:pw@", 1)
	for args, status := range map[string]int{"queue stats q": 5, "enqueue q k": 7, "queue pause q": 7} {
		t.Run(args+" says that rights are missing", func(t *testing.T) {
			p := launch(t, []string{env}, strings.Fields(args)...)
			if got := p.status(); got != status || !strings.HasSuffix(p.stderr(), ": give this Redis user the rights it needs\n") {
				t.Errorf("status %d: %s", got, p.stderr())
			}
		})
	}
	t.Run("so does an audit that may not read all", func(t *testing.T) {
		must(t, s.Client().Do(t.Context(), "ACL", "SETUSER", "few", "+time").Err())
		p := launch(t, []string{env}, "audit", "q")
		if got := p.status(); got != 5 || !strings.HasSuffix(p.stderr(), ": give this Redis user the rights it needs\n") {
			t.Errorf("status %d: %s", got, p.stderr())
		}
	})
}
