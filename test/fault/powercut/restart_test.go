package powercut_test

import (
	"strings"
	"time"

	"github.com/waybillhq/waybill"
)

// rewrite makes the server write its append-only file anew, from what it has in memory, and waits for it.
func (m *image) rewrite() {
	m.t.Helper()
	must(m.t, m.rdb.BgRewriteAOF(m.t.Context()).Err())
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		info, err := m.rdb.Info(m.t.Context(), "persistence").Result()
		must(m.t, err)
		if strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0") {
			if !strings.Contains(info, "aof_last_bgrewrite_status:ok") {
				m.t.Fatal("the append-only file could not be rewritten")
			}
			return
		}
		if time.Since(began) > time.Minute {
			m.t.Fatal("the append-only file is not rewritten within a minute")
		}
	}
}

// restart kills the server, which has worked everything off, and starts it again: nothing may be live.
func (m *image) restart() {
	m.t.Helper()
	m.server.Restart()
	m.client = clientOf(m.t, m.server)
	for _, name := range []string{wide, tight} {
		for j, err := range m.client.Queue(name).Jobs(m.t.Context(), waybill.Filter{}) {
			must(m.t, err)
			if j.FinishedAt.IsZero() {
				m.say("job %s of %s had ended before the second start, it is %s", j.ID, name, j.State)
			}
		}
	}
}
