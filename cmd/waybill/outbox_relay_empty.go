package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/waybillhq/waybill/outbox"
)

// outboxEmpty waits until no row is to be sent and no word to be read, twice in a row. Queues of which Redis lost data are
// passed over, and told in the end. An error ends the wait; nil also where ctx ended.
func outboxEmpty(ctx context.Context, box *outbox.Outbox, c connection, log *slog.Logger) error {
	var lost error
	for times := 0; times < 2; {
		began, empty, err := time.Now(), false, error(nil)
		switch empty, lost, err = emptyNow(ctx, box, c); {
		case err != nil:
			log.Debug("look whether the outbox is empty", slog.Any(keyError, err)) // the relay tells of it
			times = 0
		case empty:
			times++
		default:
			times = 0
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(lookEvery, 9*time.Since(began))): // counting many rows takes its time
		}
	}
	log.Info("nothing is to be sent or read: stopping")
	return lost
}

// emptyNow tells whether a relay has nothing to do now, but for the queues of which Redis lost data.
func emptyNow(ctx context.Context, box *outbox.Outbox, c connection) (empty bool, lost, err error) {
	lags, err := box.Lag(ctx)
	if err != nil {
		return false, nil, err
	}
	seen, err := box.Look(ctx, c.Client)
	if err != nil {
		return false, nil, err
	}
	gone := map[string]bool{}
	empty = true
	for _, s := range seen {
		if s.Lost != "" {
			gone[s.Queue] = true
			lost = fmt.Errorf("queue %s: %s: %w", s.Queue, s.Lost, outbox.ErrLost)
		} else if s.Unread > s.Strangers { // those stay
			empty = false
		}
	}
	for _, l := range lags {
		if l.New > 0 && !gone[l.Queue] {
			empty = false
		}
	}
	return empty, lost, nil
}
