package webhook

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/runner"
)

// shownBody is how much of an answer's body becomes the error's text, in bytes.
const shownBody = 1 << 10

// Bounds of what Retry-After may ask for.
const (
	leastWait = time.Second
	mostWait  = time.Hour
)

// outcome turns an answer into the end of an attempt.
func outcome(r *http.Response, now time.Time) ([]byte, error) {
	if r.StatusCode >= 200 && r.StatusCode < 300 {
		// One byte over the limit tells the worker to drop it.
		body, err := io.ReadAll(io.LimitReader(r.Body, runner.MaxResult+1))
		if err != nil {
			return nil, fmt.Errorf("%s, but its body did not come: %w", r.Status, err)
		}
		if len(body) == 0 {
			return nil, nil
		}
		return body, nil
	}
	failed := errors.New(describe(r))
	wait, asked := retryAfter(r.Header.Get("Retry-After"), now)
	switch r.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if asked {
			return nil, waybill.Snooze(wait)
		}
	case http.StatusBadRequest, http.StatusGone, http.StatusUnprocessableEntity:
		return nil, waybill.Dead(failed)
	}
	if asked {
		return nil, &laterError{failed, wait}
	}
	return nil, failed
}

// describe is a failure's text: the status, where a redirect points to, and the begin of the body.
func describe(r *http.Response) string {
	text := strconv.Itoa(r.StatusCode)
	if name := http.StatusText(r.StatusCode); name != "" {
		text += " " + name
	}
	if to := r.Header.Get("Location"); to != "" && r.StatusCode >= 300 && r.StatusCode < 400 {
		text += ", not followed, to " + printable(to[:min(len(to), shownBody)])
	}
	if r.StatusCode < 200 {
		return text // what follows is another protocol, and the end of a context does not end the wait for it
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, shownBody)) // what came is shown
	if shown := strings.TrimSpace(printable(string(body))); shown != "" {
		text += ": " + shown
	}
	return text
}

// printable is a text that does no harm where it is shown.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// retryAfter reads the header of that name, seconds or a date, and bounds it. False: there is none that can be read.
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	d := time.Duration(0)
	if n, err := strconv.ParseUint(text, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) { // that is very long
		d = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		d = at.Sub(now)
	} else {
		return 0, false
	}
	return min(max(d, leastWait), mostWait), true
}

// laterError is a failure after which the receiver wants to be left alone for a while.
type laterError struct {
	error
	least time.Duration
}

func (e *laterError) Unwrap() error { return e.error }

// AtLeast is a retry policy that waits as another one says, and no less than the receiver asked for.
func AtLeast(policy waybill.RetryPolicy) waybill.RetryPolicy {
	return func(failures int, err error) time.Duration {
		d := policy(failures, err)
		if later, ok := errors.AsType[*laterError](err); ok {
			d = max(d, later.least)
		}
		return d
	}
}
