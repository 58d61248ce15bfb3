package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/topic"
)

// placeText is what a place may be.
const placeText = "beginning, now, a time as 2026-01-31T09:00:00Z, a duration ago as 2h, or the ID of an entry as 1700000000000-0"

// placeFlag is a place in a stream. Zero: not given.
type placeFlag struct {
	text  string
	place topic.Place   // where it is an ID, or a word
	at    time.Time     // where it is a time
	ago   time.Duration // where it is a duration
}

func (p *placeFlag) String() string { return p.text }
func (p *placeFlag) Type() string   { return "PLACE" }

func (p *placeFlag) Set(s string) error {
	*p = placeFlag{text: s}
	if s == "" {
		return errors.New("want " + placeText)
	}
	if _, err := store.CheckPlace("place", s); err == nil {
		p.place = topic.Place(s)
		return nil
	}
	var at timeFlag
	if at.Set(s) == nil {
		p.at = at.t
		return checkYear(at.t)
	}
	d, err := parseDuration(s)
	if err != nil || strings.Trim(s, "0123456789") == "" {
		return errors.New("want " + placeText)
	}
	p.ago = d
	return nil
}

// checkYear refuses times before those that an entry's ID can tell.
func checkYear(t time.Time) error {
	if t.Before(time.UnixMilli(0)) {
		return errors.New("want a time from 1970 on")
	}
	return nil
}

// given tells whether a place was given.
func (p *placeFlag) given() bool { return p.text != "" }

// timed tells whether it is a time, and which; now is the time from which durations count back.
func (p *placeFlag) timed(now time.Time) (time.Time, bool) {
	switch {
	case !p.at.IsZero():
		return p.at, true
	case p.given() && p.place == "":
		return now.Add(-p.ago), true
	}
	return time.Time{}, false
}

// from is the place as a begin: the first entry there or behind it. "" = not given.
func (p *placeFlag) from(now time.Time) topic.Place {
	if at, ok := p.timed(now); ok {
		return topic.At(at)
	}
	return p.place
}

// to is the place as an end, included: of a time the whole millisecond. "" = not given.
func (p *placeFlag) to(now time.Time) topic.Place {
	at, ok := p.timed(now)
	switch {
	case ok:
		return topic.Place(fmt.Sprintf("%d-%d", at.UnixMilli(), lastInMilli))
	case p.place != "" && strings.Trim(string(p.place), "0123456789") == "":
		return p.place + topic.Place(fmt.Sprintf("-%d", lastInMilli))
	}
	return p.place
}

// lastInMilli is the highest number of an entry within a millisecond that a place can tell.
const lastInMilli = 1<<53 - 1

// anchored is a place with the words made IDs; "" stays.
func anchored(p topic.Place, s topic.Stats) topic.Place {
	switch {
	case p == topic.Beginning, p == topic.Now && s.Last == "":
		return "0-0"
	case p == topic.Now:
		return next(topic.Place(s.Last))
	}
	return p
}

// numberAt is the number of the first event at a place or behind it: one more than that of the last event where there is
// none.
func numberAt(ctx context.Context, t *topic.Stream, s topic.Stats, at topic.Place) (int64, error) {
	switch at {
	case "", topic.Beginning:
		return max(1, s.FirstNumber), nil
	case topic.Now:
		return s.Published + 1, nil
	}
	n := s.Published + 1
	err := t.Events(ctx, at, "", func(e topic.Event) error {
		n = e.Number
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return n, err
}

// errEnough ends a look at events before its time.
var errEnough = errors.New("enough")

// split gives the two numbers of an ID that was checked; milliseconds alone are the first of theirs.
func split(id topic.Place) (ms, seq int64) {
	a, b, _ := strings.Cut(string(id), "-")
	ms, _ = strconv.ParseInt(a, 10, 64)
	seq, _ = strconv.ParseInt(b, 10, 64)
	return ms, seq
}

// behind tells whether an ID is higher than another.
func behind(id, other topic.Place) bool {
	a, b := split(id)
	c, d := split(other)
	return a > c || a == c && b > d
}

// next is the lowest ID above another.
func next(id topic.Place) topic.Place {
	m, n := split(id)
	if n < lastInMilli {
		return topic.Place(fmt.Sprintf("%d-%d", m, n+1))
	}
	return topic.Place(fmt.Sprintf("%d-0", m+1))
}
