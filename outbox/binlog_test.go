package outbox_test

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/devsql"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

func TestRelay_binlog(t *testing.T) {
	t.Parallel()
	server := sqltest.Start(t, outbox.MariaDB, devsql.Options{NoSync: true, Settings: []string{"log-bin=log", "binlog-format=STATEMENT"}})
	s := newStand(t, sqltest.On(t, server), outbox.Options{})
	s.enter(request("a"))
	stop := s.relay()
	until(t, "a log of statements takes nothing at READ COMMITTED, and the relay says so", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, e := range s.events {
			if e.Type == outbox.EventFailed && e.Queue == "q" && strings.Contains(e.Err.Error(), "1665") {
				return true
			}
		}
		return false
	})
	stop()
	if _, err := s.db.ExecContext(t.Context(), "SET GLOBAL binlog_format = MIXED"); err != nil {
		t.Fatal(err)
	}
	mixed := newStandOn(t, s.d, outbox.Options{}, s.rdb, "mixed") // with new connections
	mixed.relay()
	until(t, "a mixed one does", func() bool { return mixed.rows().Sent == 1 })
}
