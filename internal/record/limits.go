package record

import (
	"errors"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of what a job may hold. They are checked before anything is sent.
const (
	MaxName       = 128                       // bytes of a queue's or kind's name
	MaxID         = 128                       // bytes of a job ID
	MaxScope      = 255                       // bytes of a scope
	MaxLine       = 1 << 10                   // bytes of a text for people: the reason of a cancel, the note of a progress
	MaxPriority   = 1000                      // and its negative
	MaxHeaders    = 32                        // headers of a job
	MaxHeaderSize = 8 << 10                   // bytes of all headers together
	MaxPayload    = 256 << 10                 // bytes of a payload unless set otherwise
	HardPayload   = 8 << 20                   // bytes of a payload that no setting exceeds
	MaxDelay      = 10 * 365 * 24 * time.Hour // ahead of now
	MaxRetention  = 366 * 24 * time.Hour      // of an ended job
	maxMaxFail    = 1_000_000                 // more is Unlimited
	maxVersion    = 1<<31 - 1                 // of a payload's shape
	nameAlphabet  = "letters, digits, '.', '_', '-'"
)

// ErrInvalid is the sentinel of every InputError.
var ErrInvalid = errors.New("invalid input")

// InputError says which field of a call breaks which limit. It unwraps to ErrInvalid.
type InputError struct {
	Field string // as the caller knows it: queue, kind, id, payload, …
	Why   string // the limit, and what was given
}

func (e *InputError) Error() string { return e.Field + ": " + e.Why }

// Unwrap makes errors.Is(err, ErrInvalid) true.
func (e *InputError) Unwrap() error { return ErrInvalid }

func bad(field, format string, args ...any) error {
	return &InputError{Field: field, Why: fmt.Sprintf(format, args...)}
}

// CheckName checks the name of a queue or kind: 1 to 128 of A-Z a-z 0-9 . _ -
func CheckName(field, name string) error {
	if name == "" {
		return bad(field, "is empty: give 1 to %d of %s", MaxName, nameAlphabet)
	}
	if len(name) > MaxName {
		return bad(field, "is %d bytes long: at most %d", len(name), MaxName)
	}
	for _, c := range []byte(name) {
		if !nameByte(c) {
			return bad(field, "%q holds %q: only %s", name, c, nameAlphabet)
		}
	}
	return nil
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

// CheckScope checks the scope of a job's receipts: 1 to 255 of A-Z a-z 0-9 . _ - / : so that it can be a queue, or a
// path of names.
func CheckScope(scope string) error {
	if scope == "" {
		return bad("scope", "is empty: give 1 to %d bytes", MaxScope)
	}
	if len(scope) > MaxScope {
		return bad("scope", "is %d bytes long: at most %d", len(scope), MaxScope)
	}
	for _, c := range []byte(scope) {
		if !nameByte(c) && c != '/' && c != ':' {
			return bad("scope", "%q holds %q: only %s, '/', ':'", scope, c, nameAlphabet)
		}
	}
	return nil
}

// CheckID checks a job ID: 1 to 128 bytes of printable UTF-8 without space.
func CheckID(id string) error {
	if id == "" {
		return bad("id", "is empty: give 1 to %d bytes", MaxID)
	}
	if len(id) > MaxID {
		return bad("id", "is %d bytes long: at most %d", len(id), MaxID)
	}
	if !utf8.ValidString(id) {
		return bad("id", "%q is not UTF-8", id)
	}
	for _, r := range id {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return bad("id", "%q holds %q: printable characters without space only", id, r)
		}
	}
	return nil
}

// Check checks all of a job but its size.
func (j Job) Check(id string, priority int) error {
	if err := CheckName("kind", j.Kind); err != nil {
		return err
	}
	if err := CheckID(id); err != nil {
		return err
	}
	if j.Scope != "" {
		if err := CheckScope(j.Scope); err != nil {
			return err
		}
	}
	for _, c := range []struct{ field, id string }{{"event", j.Event}, {"replay", j.Replay}} {
		if c.id != "" {
			if err := CheckID(c.id); err != nil {
				return bad(c.field, "%q is no ID: %v", c.id, err)
			}
		}
	}
	switch {
	case priority < -MaxPriority || priority > MaxPriority:
		return bad("priority", "is %d: from %d to %d", priority, -MaxPriority, MaxPriority)
	case j.Delay < 0:
		return bad("delay", "is %s: it can't be negative", j.Delay)
	case j.Delay > MaxDelay:
		return bad("delay", "is %s: at most %s", j.Delay, MaxDelay)
	case !j.At.IsZero() && (j.At.UnixMilli() < 0 || j.At.Year() > 2500):
		return bad("at", "is %s: from 1970 to 2500", j.At)
	case j.Retention < 0 || j.Retention > MaxRetention:
		return bad("retention", "is %s: from 0 to %s", j.Retention, MaxRetention)
	case j.MaxFailures < -1 || j.MaxFailures > maxMaxFail:
		return bad("max failures", "is %d: from 1 to %d, or unlimited", j.MaxFailures, maxMaxFail)
	case j.Version < 0 || j.Version > maxVersion:
		return bad("version", "is %d: from 0 to %d", j.Version, maxVersion)
	}
	return checkHeaders(j.Headers)
}

// CheckSize checks the payload against a limit in bytes.
func CheckSize(payload []byte, limit int) error {
	if len(payload) > limit {
		return bad("payload", "is %d bytes: at most %d", len(payload), limit)
	}
	return nil
}

func checkHeaders(h map[string]string) error {
	if len(h) > MaxHeaders {
		return bad("headers", "are %d: at most %d", len(h), MaxHeaders)
	}
	size := 0
	for k, v := range h {
		if err := CheckName("header name", k); err != nil {
			return err
		}
		if !utf8.ValidString(v) {
			return bad("header "+k, "is not UTF-8")
		}
		size += len(k) + len(v)
	}
	if size > MaxHeaderSize {
		return bad("headers", "are %d bytes: at most %d", size, MaxHeaderSize)
	}
	return nil
}

// CheckLine checks a text for people: one line, printable, "" too. Errors: ErrInvalid.
func CheckLine(field, text string) error {
	if len(text) > MaxLine {
		return bad(field, "is %d bytes: at most %d", len(text), MaxLine)
	}
	if !utf8.ValidString(text) {
		return bad(field, "is not UTF-8")
	}
	for _, c := range text {
		if !unicode.IsPrint(c) {
			return bad(field, "holds %q: one line of printable characters", c)
		}
	}
	return nil
}
