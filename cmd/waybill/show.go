package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// shownBytes is how much of a payload or result people are shown.
const shownBytes = 2048

// moment is a point in time, and how far it is from now, by the clock of Redis.
func moment(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	text := t.UTC().Format("2006-01-02 15:04:05.000 MST")
	switch d := now.Sub(t); {
	case now.IsZero():
		return text
	case d < 0:
		return text + " (in " + span(-d) + ")"
	default:
		return text + " (" + span(d) + " ago)"
	}
}

// span is a duration to three places at most.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// count is a number of things: 1 failure, 2 failures. The plural is the noun with an s.
func count[N int | int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// crashes is a number of crashes.
func crashes[N int | int64](n N) string {
	if n == 1 {
		return "1 crash"
	}
	return fmt.Sprintf("%d crashes", n)
}

// content is a payload or result as people see it: without the end of its last line.
func content(b []byte) string {
	if len(b) == 0 {
		return "(empty)"
	}
	text := string(b[:min(len(b), shownBytes)])
	for len(b) > shownBytes && len(text) > 0 && !utf8.RuneStart(b[len(text)]) {
		text = text[:len(text)-1] // not in the middle of a character
	}
	switch {
	case !utf8.ValidString(text):
		text = fmt.Sprintf("%q", text)
	case len(b) <= shownBytes && text != "\n":
		text = strings.TrimSuffix(text, "\n")
	}
	if len(b) > len(text) && len(b) > shownBytes {
		text += fmt.Sprintf(" … (%d bytes; --json has them all)", len(b))
	}
	return text
}

// grouped is a number of things with its thousands apart: 1,234 dead jobs.
func grouped(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(n) + " " + noun
}

// thousands is a number with its thousands apart.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// age is a duration to two places, for tables.
func age(d time.Duration) string {
	days, hours := d/day, d%day/time.Hour
	minutes, seconds := d%time.Hour/time.Minute, d%time.Minute/time.Second
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", seconds)
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", minutes, seconds)
	case d < day:
		return fmt.Sprintf("%dh%dm", hours, minutes)
	}
	return fmt.Sprintf("%dd%dh", days, hours)
}
