package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/record"
)

// Unlimited is the value of a setting without bound.
const Unlimited = -1

// Settings to change; nil leaves a setting as it is. Numbers: at least 0, or Unlimited; the windows are
// always bounded, at least 1 s and 1,000.
type Settings struct {
	Capacity        *int64         // live jobs; default unlimited
	CrashAllowance  *int64         // crashes forgiven; the next one kills; default 5
	DeadCount       *int64         // dead jobs kept; default 10,000
	DeadAge         *time.Duration // dead jobs kept for; Unlimited = for ever; default 90 days
	WindowGenerated *time.Duration // ended jobs with generated IDs remembered at least; default 60 s
	WindowNamed     *time.Duration // the same for given IDs; default 1 h
	WindowCount     *int64         // entries of a generation of the window; default 1,000,000
	Lease           *time.Duration // of workers that say none themselves; default DefaultLease
}

// Defaults of the settings; those of lua/*.lua are the same.
const (
	DefaultCrashAllowance  = 5
	DefaultDeadCount       = 10_000
	DefaultDeadAge         = 90 * 24 * time.Hour
	DefaultWindowGenerated = time.Minute
	DefaultWindowNamed     = time.Hour
	DefaultWindowCount     = 1_000_000
	DefaultLease           = 30 * time.Second
)

// MinLease bounds a lease from below, MaxLease from above.
const MinLease = 100 * time.Millisecond

// Configure changes settings of the queue. Errors: record.ErrInvalid, before anything is sent.
func (q *Queue) Configure(ctx context.Context, s Settings) error {
	args := []any{}
	var err error
	set := func(field string, v *int64, least int64, unlimited bool) {
		if v == nil || err != nil {
			return
		}
		switch {
		case *v < least && !unlimited:
			err = bad(field, "is %d: at least %d", *v, least)
		case *v < least && *v != Unlimited:
			err = bad(field, "is %d: at least %d, or unlimited", *v, least)
		}
		args = append(args, field, settingText(*v))
	}
	set("capacity", s.Capacity, 0, true)
	set("crash_allowance", s.CrashAllowance, 0, true)
	set("dead_count", s.DeadCount, 0, true)
	set("dead_age", inMilliseconds(s.DeadAge), 0, true)
	set("window_generated", inMilliseconds(s.WindowGenerated), 1000, false)
	set("window_named", inMilliseconds(s.WindowNamed), 1000, false)
	set("window_count", s.WindowCount, 1000, false)
	set("lease", inMilliseconds(s.Lease), MinLease.Milliseconds(), false)
	if s.Lease != nil && *s.Lease > MaxLease {
		err = bad("lease", "is %s: at most %s", *s.Lease, MaxLease)
	}
	if err != nil || len(args) == 0 {
		return err
	}
	return q.configure(ctx, args...)
}

// Lease is how long the lease of a job is in a worker that says nothing itself. Errors: as any call that reads.
func (q *Queue) Lease(ctx context.Context) (time.Duration, error) {
	s, err := q.Settings(ctx)
	if err != nil {
		return 0, err
	}
	return *s.Lease, nil
}

// Settings gives all settings; those that were never set have their defaults. None is nil.
func (q *Queue) Settings(ctx context.Context) (Settings, error) {
	fields := []string{
		"capacity", "crash_allowance", "dead_count", "dead_age", "window_generated", "window_named", "window_count", "lease",
	}
	said, err := command(ctx, q.store.rdb, func() ([]any, error) {
		return q.store.rdb.HMGet(ctx, q.tag+"meta", fields...).Result()
	})
	if err != nil {
		return Settings{}, readError("settings", q.name, err)
	}
	value := func(i int, otherwise int64) *int64 {
		switch v := text(said[i]); v {
		case "":
		case "unlimited":
			otherwise = Unlimited
		default:
			otherwise = number(v)
		}
		return &otherwise
	}
	span := func(i int, otherwise time.Duration) *time.Duration {
		d := time.Duration(*value(i, otherwise.Milliseconds())) * time.Millisecond
		if d < 0 {
			d = Unlimited
		}
		return &d
	}
	return Settings{
		Capacity: value(0, Unlimited), CrashAllowance: value(1, DefaultCrashAllowance), DeadCount: value(2, DefaultDeadCount),
		DeadAge: span(3, DefaultDeadAge), WindowGenerated: span(4, DefaultWindowGenerated),
		WindowNamed: span(5, DefaultWindowNamed), WindowCount: value(6, DefaultWindowCount), Lease: span(7, DefaultLease),
	}, nil
}

func (q *Queue) configure(ctx context.Context, args ...any) error {
	_, _, err := q.call(ctx, "configure", args...)
	return err
}

// Pause stops claims of this queue; upkeep goes on. by says who, for people to read.
func (q *Queue) Pause(ctx context.Context, by string) error {
	if by == "" {
		by = "unknown"
	}
	return q.configure(ctx, "paused", by)
}

// Resume lets claims go on and rings the bell.
func (q *Queue) Resume(ctx context.Context) error { return q.configure(ctx, "paused", "") }

func settingText(v int64) string {
	if v == Unlimited {
		return "unlimited"
	}
	return strconv.FormatInt(v, 10)
}

func inMilliseconds(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	ms := d.Milliseconds()
	if *d == Unlimited {
		ms = Unlimited
	}
	return &ms
}

func bad(field, format string, args ...any) error {
	return &record.InputError{Field: field, Why: fmt.Sprintf(format, args...)}
}
