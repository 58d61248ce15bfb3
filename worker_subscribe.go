package waybill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// Topic is the store of a topic. It is for package topic, its type is this module's own, and nothing is promised of it to
// others. Nothing is sent. Errors: ErrInvalid. Safe for concurrent use.
func (c *Client) Topic(name string) (*store.Topic, error) { return c.store.Topic(name) }

// Topics lists the names of all topics that clients wrote to, in no order. Errors: ErrUnavailable.
func (c *Client) Topics(ctx context.Context) ([]string, error) { return c.store.Topics(ctx) }

// subscribeEvery is how long a worker waits before it tries again to make a subscription.
const subscribeEvery = 500 * time.Millisecond

// subscribe makes the subscription of a queue where it is to be there. While Redis is away it tries again, until ctx ends.
func (w *Worker) subscribe(ctx context.Context, s *served) error {
	if s.subscribe == "" {
		return nil
	}
	name, sub, _ := strings.Cut(s.name, "/")
	topic, err := w.client.Topic(name)
	if err != nil {
		return err
	}
	t := time.NewTicker(subscribeEvery)
	defer t.Stop()
	for told := false; ; {
		at, err := topic.Subscribe(ctx, sub, s.subscribe, store.Create)
		if err == nil {
			return w.subscribed(s, at)
		}
		if !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrUnknown) {
			return err
		}
		if !told {
			told = true
			w.log.Warn("subscription can't be made yet", slog.String(keyQueue, s.name), slog.Any(keyError, err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

// remainEvery is how often a worker looks whether its subscriptions are still there.
const remainEvery = 10 * time.Second

// remain makes the subscription anew where Redis lost it, until ctx ends. One that somebody ended stays so.
func (w *Worker) remain(ctx context.Context, s *served) {
	name, sub, _ := strings.Cut(s.name, "/")
	topic, err := w.client.Topic(name)
	if err != nil || s.subscribe == "" {
		return
	}
	t := time.NewTicker(remainEvery)
	defer t.Stop()
	for last := store.SubExists; ; {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		at, err := topic.Subscribe(ctx, sub, s.subscribe, store.Remain)
		if err != nil || at.Word == last { // while Redis is away the claims tell it
			continue
		}
		last = at.Word
		if last == store.SubCreated {
			w.log.Warn("subscription was lost", slog.String(keyQueue, s.name))
		}
		if err := w.subscribed(s, at); err != nil { // its name or its place among 64 went to somebody else meanwhile
			w.log.Error("subscription was lost and can't be made anew", slog.String(keyQueue, s.name), slog.Any(keyError, err))
		}
	}
}

// subscribed says what the answer means for the worker.
func (w *Worker) subscribed(s *served, at store.Standpoint) error {
	switch at.Word {
	case store.SubCreated:
		w.log.Info("subscription made", slog.String(keyQueue, s.name), slog.String(keyCursor, at.Cursor))
	case store.SubDetached:
		w.log.Warn("subscription is detached and takes no events: attach it again", slog.String(keyQueue, s.name))
	case store.SubEnded:
		w.log.Warn("subscription was ended: no more events come", slog.String(keyQueue, s.name))
	case store.SubMany, store.SubForeign, store.SubFuture:
		return fmt.Errorf("subscription %s: %w", s.name, SubscribeError(at.Word))
	}
	return nil
}

// SubscribeError is why a topic refuses a subscription, by the store's word. It is for package topic, and nothing is promised
// of it to others.
func SubscribeError(word store.Subscribed) error {
	switch word {
	case store.SubMany:
		return &subscribeRefusedError{fmt.Sprintf("the topic has %d, and can't have more: end one first", store.MaxSubscriptions)}
	case store.SubForeign:
		return &subscribeRefusedError{"a consumer group that is not Waybill's has this name: take another"}
	case store.SubFuture:
		return invalid("from", "lies ahead of the topic's last event and of now: nothing can begin there yet")
	}
	return nil
}

// subscribeRefusedError says why a topic has no place for a subscription. It unwraps to ErrState, whose own text is of jobs.
type subscribeRefusedError struct{ why string }

func (e *subscribeRefusedError) Error() string { return e.why }

func (e *subscribeRefusedError) Unwrap() error { return ErrState }
