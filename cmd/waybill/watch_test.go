package main_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/waybillhq/waybill"
	main "github.com/waybillhq/waybill/cmd/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

func TestStats_watch(t *testing.T) {
	t.Parallel()
	t.Run("it is shown again until Ctrl-C, which is a good end", func(t *testing.T) {
		t.Parallel()
		s, c := held(t)
		p := launch(t, []string{"WAYBILL_REDIS=" + s.URL()}, "queue", "stats", "--watch", "--interval", "10ms", "--json")
		until(t, "one job is shown", func() bool { return strings.Contains(p.stdout(), `"ready":1,`) })
		send(t, c, waybill.Request{Queue: "q", Kind: "k"})
		until(t, "two are", func() bool { return strings.Contains(p.stdout(), `"ready":2,`) })
		p.signal(os.Interrupt)
		if got := p.status(); got != 0 || p.stderr() != "" {
			t.Errorf("status %d", got)
		}
	})
	t.Run("for people it is a block each time", func(t *testing.T) {
		t.Parallel()
		s, _ := held(t)
		p := launch(t, []string{"WAYBILL_REDIS=" + s.URL()}, "queue", "stats", "--interval", "10ms")
		until(t, "there are three blocks", func() bool { return strings.Count(p.stdout(), "\n\nQUEUE ") >= 2 })
		p.signal(os.Interrupt)
		if got := p.status(); got != 0 || strings.Contains(p.stdout(), "\x1b") {
			t.Errorf("status %d", got)
		}
	})
	t.Run("nobody reading any more is a good end", func(t *testing.T) {
		t.Parallel()
		s, _ := held(t)
		r, w, err := os.Pipe()
		must(t, err)
		var errs bytes.Buffer
		ended := make(chan int, 1)
		go func() {
			ended <- main.Run([]string{"queue", "stats", "--watch", "--interval", "1ms"}, strings.NewReader(""), w, &errs,
				[]string{"WAYBILL_REDIS=" + s.URL()})
		}()
		_, err = io.ReadFull(r, make([]byte, 10))
		must(t, err)
		must(t, r.Close())
		if got := <-ended; got != 0 || errs.Len() > 0 {
			t.Errorf("status %d, stderr %q", got, &errs)
		}
		must(t, w.Close())
	})
}

func TestWorker(t *testing.T) {
	t.Parallel()
	s, c := held(t)
	p, pid := worker(t, s, "")
	id := ""
	until(t, "the worker shows itself", func() bool {
		all, err := c.Workers(t.Context())
		must(t, err)
		if len(all) == 1 {
			id = all[0].ID
		}
		return id != ""
	})
	got := waybillOn(t, s, "", "worker", "list")
	if got.status != 0 || !strings.Contains(got.out, id) || !strings.Contains(got.out, "working") || !strings.Contains(got.out, "q=") {
		t.Errorf("status %d, %q", got.status, got.out)
	}
	if got = waybillOn(t, s, "", "worker", "list", "--json"); !strings.HasPrefix(got.out, `{"id":"`+id+`","host":"`) {
		t.Errorf("%q", got.out)
	}
	if got = waybillOn(t, s, "", "__complete", "worker", "stop", ""); !strings.HasPrefix(got.out, id+"\n") {
		t.Errorf("completion is %q", got.out)
	}
	got = waybillOn(t, s, "", "worker", "quiet", id, "nobody", "--json")
	if got.status != 9 || !strings.HasPrefix(got.out, `{"id":"`+id+`","asked":"quiet","error":null,"message":null}`+"\n"+
		`{"id":"nobody","asked":null,"error":"not_found",`) {
		t.Errorf("status %d, %q", got.status, got.out)
	}
	until(t, "the worker is quiet", func() bool {
		return strings.Contains(waybillOn(t, s, "", "worker", "list").out, "quiet")
	})
	if got = waybillOn(t, s, "", "worker", "stop", id); got.status != 0 || got.out != id+" asked: stop\n" {
		t.Errorf("status %d, %q", got.status, got.out)
	}
	goOn(t, pid)
	if got := p.status(); got != 0 {
		t.Errorf("the worker ended with status %d", got)
	}
	if got = waybillOn(t, s, "", "worker", "list"); got.status != 0 || got.err != "waybill: no worker is there\n" {
		t.Errorf("status %d, stderr %q", got.status, got.err)
	}
}

// closedPipe is a writer whose reader is gone after some bytes.
type closedPipe struct{ left int }

func (c *closedPipe) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func TestExport_closedPipe(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := client(t, s)
	requests := make([]waybill.Request, 100)
	for i := range requests {
		requests[i] = waybill.Request{Queue: "q", Kind: "k", Payload: bytes.Repeat([]byte("x"), 1000)}
	}
	_, err := c.EnqueueMany(t.Context(), requests)
	must(t, err)
	var errs bytes.Buffer
	got := main.Run([]string{"queue", "export", "q"}, strings.NewReader(""), &closedPipe{5000}, &errs, []string{"WAYBILL_REDIS=" + s.URL()})
	if got != 1 || !strings.Contains(errs.String(), "closed pipe") {
		t.Errorf("status %d, stderr %q, though not all was written", got, &errs)
	}
}
