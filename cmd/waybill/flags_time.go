package main

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill"
)

// durationFlag is a time span: as Go spells it, with days ("d") too.
type durationFlag time.Duration

func (d *durationFlag) String() string { return time.Duration(*d).String() }
func (d *durationFlag) Type() string   { return "duration" }

func (d *durationFlag) Set(s string) error {
	v, err := parseDuration(s)
	*d = durationFlag(v)
	return err
}

// spanFlag is a duration above 0. Zero: not given.
type spanFlag time.Duration

func (d *spanFlag) String() string { return "" }
func (d *spanFlag) Type() string   { return "duration" }

func (d *spanFlag) Set(s string) error {
	v, err := parseDuration(s)
	if err == nil && v == 0 {
		err = errors.New("want a duration above 0, such as 500ms, 30s or 5m")
	}
	*d = spanFlag(v)
	return err
}

const day = 24 * time.Hour

func parseDuration(s string) (time.Duration, error) {
	bad := errors.New("want a duration such as 500ms, 30s, 5m, 2h or 7d, not below 0")
	days, rest, ok := strings.Cut(s, "d")
	if !ok {
		days, rest = "0", s
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, bad
	}
	d := time.Duration(0)
	if rest != "" || !ok {
		d, err = time.ParseDuration(rest)
	}
	if sum := time.Duration(n)*day + d; err == nil && d >= 0 && sum >= 0 {
		return sum, nil
	}
	return 0, bad
}

// ageFlag is a duration, or unlimited.
type ageFlag struct {
	d     time.Duration
	given bool
}

func (g *ageFlag) String() string { return "" }
func (g *ageFlag) Type() string   { return "duration|unlimited" }

func (g *ageFlag) Set(s string) (err error) {
	g.d, g.given = waybill.Unlimited, true
	if s != unlimited {
		g.d, err = parseDuration(s)
	}
	return err
}

// value is what was set, or nil.
func (g *ageFlag) value() *time.Duration {
	if !g.given {
		return nil
	}
	return &g.d
}

// givenFlag is a duration that may be given or not.
type givenFlag struct {
	d     time.Duration
	given bool
}

func (g *givenFlag) String() string { return "" }
func (g *givenFlag) Type() string   { return "duration" }

func (g *givenFlag) Set(s string) (err error) {
	g.d, err = parseDuration(s)
	g.given = true
	return err
}

// value is what was set, or nil.
func (g *givenFlag) value() *time.Duration {
	if !g.given {
		return nil
	}
	return &g.d
}

// timeFlag is a point in time.
type timeFlag struct{ t time.Time }

func (f *timeFlag) String() string { return "" }
func (f *timeFlag) Type() string   { return "time" }

func (f *timeFlag) Set(s string) (err error) {
	if f.t, err = time.Parse(time.RFC3339, s); err != nil {
		return errors.New("want a time such as 2026-01-31T09:00:00Z or 2026-01-31T09:00:00.250+01:00")
	}
	return nil
}
