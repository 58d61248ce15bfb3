package main

import (
	"log/slog"
	"sync"

	"github.com/waybillhq/waybill/outbox"
)

// carriage counts what a relay does. It is for several goroutines.
type carriage struct {
	mu          sync.Mutex
	sent, ended int64
	told        int64 // of both, when that was last told
	lags        map[string]outbox.Lag
}

func (t *carriage) observe(e outbox.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Type {
	case outbox.EventSent:
		t.sent += int64(e.Rows)
	case outbox.EventEnded:
		t.ended += int64(e.Rows)
	case outbox.EventLag:
		if t.lags == nil {
			t.lags = map[string]outbox.Lag{}
		}
		t.lags[e.Queue] = e.Lag
	default: // logged by the relay
	}
}

// total is what was carried, as attributes of a log.
func (t *carriage) total() []any {
	t.mu.Lock()
	defer t.mu.Unlock()
	return []any{slog.Int64(keySent, t.sent), slog.Int64(keyEnded, t.ended)}
}

// progress logs what was carried so far, where that is more than at the last time.
func (t *carriage) progress(log *slog.Logger) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sent+t.ended == t.told {
		return
	}
	t.told = t.sent + t.ended
	var fresh, unread int64
	for _, l := range t.lags {
		fresh, unread = fresh+l.New, unread+l.Unread
	}
	log.Info("carried so far", slog.Int64(keySent, t.sent), slog.Int64(keyEnded, t.ended), slog.Int64(keyNew, fresh),
		slog.Int64(keyUnread, unread))
}
