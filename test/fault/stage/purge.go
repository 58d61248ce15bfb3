package stage

import (
	"strings"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/history"
)

// purge deletes all jobs, and writes how many keys of single jobs are left: none may be.
func (s *Stage) purge() {
	s.Helper()
	queues, err := s.Client.Queues(s.Context())
	s.Must(err)
	for _, q := range queues {
		for _, state := range []waybill.State{
			waybill.StateReady, waybill.StateScheduled, waybill.StateRetry, waybill.StateSpilled, waybill.StateCompleted, waybill.StateDead,
			waybill.StateCancelled,
		} {
			_, err := s.Client.Queue(q).Purge(s.Context(), state, waybill.BulkOptions{})
			s.Must(err)
		}
	}
	left := int64(0)
	for keys := s.direct.Scan(s.Context(), 0, "wb:*", 1000).Iterator(); keys.Next(s.Context()); {
		_, rest, _ := strings.Cut(keys.Val(), "}:")
		if strings.Contains(rest, "job:") || strings.Contains(rest, "result:") {
			s.Logf("left after the purge: %s", keys.Val())
			left++
		}
	}
	s.History.Write(history.Event{Op: history.OpKeys, Keys: left})
}
