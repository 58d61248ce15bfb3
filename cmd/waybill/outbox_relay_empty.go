package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/waybillhq/waybill/outbox"
)

// errLeft: a relay had something to do when its time was over.
var errLeft = errors.New("the outbox is not empty")

// emptyWait waits until an outbox is empty.
type emptyWait struct {
	box   *outbox.Outbox
	c     connection
	log   *slog.Logger
	limit time.Duration // 0 = none
	told  bool          // that the looks fail
}

// run waits until no row is to be sent and no word to be read, twice in a row. Queues of which Redis lost data are passed
// over, and told in the end. An error ends the wait: ErrLost, errLeft; nil also where ctx ended.
func (w *emptyWait) run(ctx context.Context) error {
	limited, over := ctx, (<-chan time.Time)(nil)
	if w.limit > 0 {
		over = time.After(w.limit)
		var stop context.CancelFunc
		limited, stop = context.WithTimeout(ctx, max(w.limit, leastLook))
		defer stop()
	}
	var left leftover
	for times := 0; times < 2; {
		began := time.Now()
		now, err := w.look(limited)
		w.tell(ctx, err)
		if err == nil || limited.Err() == nil || left.none() { // the last look may be cut short
			left = now
		}
		if times++; err != nil || !left.none() {
			times = 0
		}
		if times == 2 {
			break
		}
		select {
		case <-ctx.Done():
			return nil
		case <-over:
			return fmt.Errorf("%w after %s: %s", errLeft, w.limit, left)
		case <-time.After(max(lookEvery, 9*time.Since(began))): // counting many rows takes its time
		}
	}
	w.log.Info("nothing is to be sent or read: stopping")
	return left.lost
}

// tell logs a look that failed: at once, and then no more until one succeeds, for the relay tells of it too.
func (w *emptyWait) tell(ctx context.Context, err error) {
	switch {
	case err == nil:
		w.told = false
	case ctx.Err() != nil: // it is over
	case w.told:
		w.log.Debug("it is still not known whether the outbox is empty", slog.String(keyError, err.Error()))
	default:
		w.told = true
		w.log.Warn("it is not known whether the outbox is empty, it is looked again", slog.String(keyError, err.Error()))
	}
}

// leftover is what a relay has to do.
type leftover struct {
	rows, words int64    // of queues of which Redis lost nothing
	held        []string // why topics take no events
	blind       error    // why that is not known; nil = it is
	lost        error    // an ErrLost; nil = nothing was lost
}

func (l leftover) none() bool { return l.blind == nil && l.rows == 0 && l.words == 0 }

func (l leftover) String() string {
	var all []string
	if l.rows > 0 {
		all = append(all, grouped(l.rows, "row")+" not sent")
	}
	all = append(all, l.held...)
	if l.words > 0 {
		all = append(all, grouped(l.words, "word")+" not read")
	}
	if l.blind != nil {
		all = append(all, l.blind.Error())
	}
	if l.lost != nil {
		all = append(all, l.lost.Error())
	}
	if len(all) == 0 {
		return "it has only just become so"
	}
	return strings.Join(all, ", ")
}

// look looks at what a relay has to do now. The error stands in leftover too.
func (w *emptyWait) look(ctx context.Context) (l leftover, err error) {
	defer func() { l.blind = err }()
	lags, err := w.box.Lag(ctx)
	if err != nil {
		return l, err
	}
	for _, lag := range lags {
		l.rows += lag.New
	}
	seen, err := w.box.Look(ctx, w.c.Client)
	if err != nil {
		return l, err
	}
	gone, held := map[string]bool{}, map[string]string{}
	for _, s := range seen {
		held[s.Queue] = s.Held
		if s.Lost != "" {
			gone[s.Queue] = true
			l.lost = fmt.Errorf("queue %s: %s: %w", s.Queue, s.Lost, outbox.ErrLost)
		} else {
			l.words += max(0, s.Unread-s.Strangers) // those stay
		}
	}
	for _, lag := range lags {
		if gone[lag.Queue] {
			l.rows -= lag.New
		} else if why := held[lag.Queue]; lag.New > 0 && why != "" {
			l.held = append(l.held, addressTitle(lag.Queue)+": "+why)
		}
	}
	return l, nil
}
