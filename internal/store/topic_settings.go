package store

import (
	"context"
	"time"
)

// What a full stream does.
const (
	FullRejects  = "reject" // all publishers are told that it is full
	FullDetaches = "detach" // the slowest subscription is detached, until there is room
)

// TopicSettings to change; nil leaves a setting as it is. A bound is at least 1, or Unlimited.
type TopicSettings struct {
	Capacity        *int64         // entries of the stream; default Unlimited
	OnFull          *string        // FullRejects (default) or FullDetaches
	Keep            *time.Duration // entries stay so long though all have taken them; default 0
	MaxAge          *time.Duration // older entries are cut, taken or not; default Unlimited
	MaxEvents       *int64         // entries beyond so many are cut, taken or not; default Unlimited
	WindowGenerated *time.Duration // as of queues, for published events
	WindowNamed     *time.Duration
	WindowCount     *int64
}

// unlimited is the value of a setting without bound.
const unlimited = "unlimited"

// Set changes settings of the topic. Errors: record.ErrInvalid, before anything is sent; else as any call.
func (t *Topic) Set(ctx context.Context, s TopicSettings) error {
	c := change{}
	c.bound("capacity", s.Capacity, 1)
	if s.OnFull != nil {
		switch *s.OnFull {
		case FullRejects:
			c.args = append(c.args, "on_full", "") // the default
		case FullDetaches:
			c.args = append(c.args, "on_full", FullDetaches)
		default:
			c.refuse("on full", "is %q: %s or %s", *s.OnFull, FullRejects, FullDetaches)
		}
	}
	c.bound("keep", inMilliseconds(s.Keep), 0)
	c.bound("max_age", inMilliseconds(s.MaxAge), 1)
	c.bound("max_events", s.MaxEvents, 1)
	c.window("window_generated", inMilliseconds(s.WindowGenerated))
	c.window("window_named", inMilliseconds(s.WindowNamed))
	c.window("window_count", s.WindowCount)
	if s.Keep != nil && *s.Keep == Unlimited {
		c.refuse("keep", "can't be unlimited: give a time")
	}
	if c.err != nil || len(c.args) == 0 {
		return c.err
	}
	if err := t.configure(ctx, c.args...); err != nil {
		return err
	}
	_ = t.Register(ctx) // for a list that people read
	return nil
}

// change gathers settings as the script takes them.
type change struct {
	args []any
	err  error // the first
}

func (c *change) refuse(field, format string, args ...any) {
	if c.err == nil {
		c.err = bad(field, format, args...)
	}
}

// bound adds a bound; Unlimited removes it, since that is the default.
func (c *change) bound(field string, v *int64, least int64) {
	switch {
	case v == nil:
	case *v == Unlimited:
		c.args = append(c.args, field, "")
	case *v < least:
		c.refuse(field, "is %d: at least %d, or unlimited", *v, least)
	default:
		c.args = append(c.args, field, settingText(*v))
	}
}

func (c *change) window(field string, v *int64) {
	switch {
	case v == nil:
	case *v < 1000:
		c.refuse(field, "is %d: at least 1000", *v)
	default:
		c.args = append(c.args, field, settingText(*v))
	}
}

// Settings gives all settings of the topic; those that were never set have their defaults. None is nil.
// Errors: as any call that reads.
func (t *Topic) Settings(ctx context.Context) (TopicSettings, error) {
	fields := []string{"capacity", "on_full", "keep", "max_age", "max_events", "window_generated", "window_named", "window_count"}
	said, err := command(ctx, t.store.rdb, func() ([]any, error) {
		return t.store.rdb.HMGet(ctx, t.tag+"meta", fields...).Result()
	})
	if err != nil {
		return TopicSettings{}, readError("settings", t.name, err)
	}
	value := func(i int, otherwise int64) *int64 {
		if v := text(said[i]); v != "" {
			otherwise = number(v)
		}
		return &otherwise
	}
	span := func(i int, otherwise time.Duration) *time.Duration {
		d := otherwise
		if v := text(said[i]); v != "" {
			d = time.Duration(number(v)) * time.Millisecond
		}
		return &d
	}
	full := FullRejects
	if text(said[1]) != "" {
		full = text(said[1])
	}
	return TopicSettings{
		Capacity: value(0, Unlimited), OnFull: &full, Keep: span(2, 0), MaxAge: span(3, Unlimited), MaxEvents: value(4, Unlimited),
		WindowGenerated: span(5, DefaultWindowGenerated), WindowNamed: span(6, DefaultWindowNamed), WindowCount: value(7, DefaultWindowCount),
	}, nil
}
