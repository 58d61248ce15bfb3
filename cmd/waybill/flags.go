package main

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill"
)

// unlimited is the word for a bound that is none; 0 is 0.
const unlimited = "unlimited"

// limitFlag is a number from 0 on, or unlimited. given: it was set.
type limitFlag struct {
	n     int64
	given bool
}

func (l *limitFlag) String() string {
	if l.n == waybill.Unlimited {
		return unlimited
	}
	return strconv.FormatInt(l.n, 10)
}

func (l *limitFlag) Type() string { return "N|unlimited" }

func (l *limitFlag) Set(s string) error {
	l.n, l.given = waybill.Unlimited, true
	if s == unlimited {
		return nil
	}
	n, err := strconv.ParseUint(s, 10, 53)
	if err != nil {
		return errors.New("want a number from 0 on, or " + unlimited)
	}
	l.n = int64(n)
	return nil
}

// value is what was set, or nil.
func (l *limitFlag) value() *int64 {
	if !l.given {
		return nil
	}
	return &l.n
}

// wholeFlag is a whole number. Whoever uses it knows its limits.
type wholeFlag int

func (w *wholeFlag) String() string { return strconv.Itoa(int(*w)) }
func (w *wholeFlag) Type() string   { return "N" }

func (w *wholeFlag) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil {
		return errors.New("want a whole number")
	}
	*w = wholeFlag(n)
	return nil
}

// failuresFlag is the failure that kills: from 1 on, or unlimited.
type failuresFlag struct{ limitFlag }

func (f *failuresFlag) Set(s string) error {
	if err := f.limitFlag.Set(s); err != nil || f.n == 0 {
		return errors.New("want a number from 1 on, or " + unlimited)
	}
	return nil
}

// fullFlag is what to do where the queue is full.
type fullFlag struct{ policy waybill.FullPolicy }

func (f *fullFlag) String() string { return "reject" }
func (f *fullFlag) Type() string   { return "reject|wait=D|spill" }

func (f *fullFlag) Set(s string) error {
	wait, waits := strings.CutPrefix(s, "wait=")
	d, err := time.Duration(0), error(nil)
	if waits {
		d, err = parseDuration(wait)
	}
	switch {
	case s == "reject":
		f.policy = waybill.FullReject
	case s == "spill":
		f.policy = waybill.FullSpill
	case waits && err == nil && d > 0:
		f.policy = waybill.FullPolicy(d)
	default:
		return errors.New("want reject, spill or wait=D, as in wait=30s")
	}
	return nil
}

// levelFlag is the importance from which on things are logged.
type levelFlag slog.Level

func (l *levelFlag) String() string { return strings.ToLower(slog.Level(*l).String()) }
func (l *levelFlag) Type() string   { return "debug|info|warn|error" }

func (l *levelFlag) Set(s string) error {
	switch s {
	case "debug", "info", "warn", "error":
		return (*slog.Level)(l).UnmarshalText([]byte(s))
	}
	return errors.New("want debug, info, warn or error")
}
