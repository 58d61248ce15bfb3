package main_test

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// TestPipe_replaced: a child that exits after a settle may be given one more job before anybody knows. Only this
// system tells that it has not read that.
func TestPipe_replaced(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small jobs": 10, "jobs that a pipe can't hold": 200 << 10} {
		t.Run(name+" that the child has not read are not failed", func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			c := client(t, s)
			for range 6 {
				send(t, c, waybill.Request{Queue: "q", Kind: "k", Payload: []byte(strings.Repeat("x", size))})
			}
			got := waybillOn(t, s, "", "work", "--queue", "q=1", "--until-empty", "--max-failures", "1", "--pipe", "sh", "-c",
				`echo '{"type":"ready"}'; read -r line
t=$(printf %s "$line" | sed 's/.*"token":"\([^"]*\)".*/\1/')
printf '{"type":"settle","token":"%s","outcome":"ack"}\n' "$t"; sleep 0.2; exit 0`)
			stats, err := c.Queue("q").Stats(t.Context())
			must(t, err)
			if stats.Completed != 6 || stats.Failures != 0 || stats.Deliveries != 6 {
				t.Errorf("%d completed, %d failures, %d deliveries: %s", stats.Completed, stats.Failures, stats.Deliveries, got.err)
			}
		})
	}
}

// TestPipe_timeout: the time of an attempt is the child's, not that of the wait for a child.
func TestPipe_timeout(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	c := client(t, s)
	send(t, c, waybill.Request{Queue: "q", Kind: "k", ID: "hangs"})
	for range 3 {
		send(t, c, waybill.Request{Queue: "q", Kind: "k"})
	}
	waybillOn(t, s, "", "work", "--queue", "q=1", "--until-empty", "--timeout", "1s", "--max-failures", "1", "--pipe", "sh", "-c",
		"sleep 0.8; "+pipeLoop(`case $line in *hangs*) sleep 60;; *) sleep 0.5; say '"outcome":"ack"';; esac`))
	stats, err := c.Queue("q").Stats(t.Context())
	must(t, err)
	if stats.Completed != 3 || stats.Died != 1 {
		t.Errorf("%d completed, %d dead: the start of a child was counted as the job's time", stats.Completed, stats.Died)
	}
}
