package main_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

func TestWait(t *testing.T) {
	t.Parallel()
	work := []string{"work", "--queue", "q", "--until-empty", "--exec", "cat"}
	t.Run("it ends when the job does", func(t *testing.T) {
		t.Parallel()
		s, _ := held(t)
		sent := launch(t, []string{"WAYBILL_REDIS=" + s.URL()}, "enqueue", "q", "k", "payload", "--id", "w", "--wait")
		until(t, "the job is there", func() bool { return waybillOn(t, s, "", "job", "get", "q", "w").status == 0 })
		waits := launch(t, []string{"WAYBILL_REDIS=" + s.URL()}, "job", "wait", "q", "w", "--wait-for", "1m")
		if got := waybillOn(t, s, "", work...); got.status != 0 {
			t.Fatal(got.err)
		}
		for _, p := range []*process{sent, waits} {
			if got := p.status(); got != 0 || p.stdout() != "payload\n" || p.stderr() != "" {
				t.Errorf("status %d", got)
			}
		}
	})
	t.Run("interrupted, it says that the job goes on", func(t *testing.T) {
		t.Parallel()
		s, _ := held(t)
		p := launch(t, []string{"WAYBILL_REDIS=" + s.URL()}, "job", "wait", "q", "id", "--json")
		until(t, "it listens", func() bool {
			n, err := s.Client().PubSubNumPat(t.Context()).Result()
			must(t, err)
			channels, err := s.Client().PubSubChannels(t.Context(), "*").Result()
			must(t, err)
			return n > 0 || len(channels) > 0
		})
		p.signal(os.Interrupt)
		if got := p.status(); got != 1 || !strings.Contains(p.stdout(), `"state":null,"result":null,"result_base64":null,"error":"interrupted"`) ||
			p.stderr() != "waybill: interrupted: job id goes on\n" {
			t.Errorf("status %d", got)
		}
	})
	t.Run("of many lines each has its result, in their order", func(t *testing.T) {
		t.Parallel()
		const n = 500
		s := redistest.Start(t)
		var lines, want strings.Builder
		for i := range n {
			fmt.Fprintln(&lines, i)
			fmt.Fprintf(&want, "\"%d\"\n", i)
		}
		sent := make(chan ran, 1)
		go func() { sent <- waybillOn(t, s, lines.String(), "enqueue", "q", "k", "--lines", "--wait") }()
		until(t, "all are sent", func() bool {
			stats, err := client(t, s).Queue("q").Stats(t.Context())
			must(t, err)
			return stats.Accepted == n
		})
		echo(t, s)
		if got := <-sent; got.status != 0 || got.out != want.String() {
			t.Errorf("status %d, %d lines, %s", got.status, strings.Count(got.out, "\n"), got.err)
		}
	})
}

// echo works off queue q until the test ends: the result of a job is its payload.
func echo(t *testing.T, s *redistest.Server) {
	t.Helper()
	w, err := waybill.NewWorker(client(t, s), waybill.WorkerOptions{Queues: []waybill.QueueOptions{{Name: "q"}}})
	must(t, err)
	w.HandleFunc(waybill.AnyKind, waybill.KindOptions{}, func(_ context.Context, a *waybill.Attempt) ([]byte, error) {
		return a.Payload, nil
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		must(t, <-ended)
	})
}
