package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill"
)

// Names of headers that are signed with.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// headerValue makes any text a header's value: what is not visible ASCII is percent-encoded, and the percent sign, so
// that two texts never look the same.
func headerValue(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// header are the headers of an attempt's request. deadline zero: there is none.
func (s *Sender) header(a *waybill.Attempt, deadline, now time.Time) http.Header {
	h := s.o.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	most := strconv.Itoa(a.MaxFailures)
	if a.MaxFailures < 0 {
		most = "unlimited"
	}
	until := ""
	if !deadline.IsZero() {
		until = deadline.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	}
	for _, f := range []struct{ name, value string }{
		{"Waybill-Job-Id", a.ID},
		{"Waybill-Queue", a.Queue},
		{"Waybill-Kind", a.Kind},
		{"Waybill-Attempt", strconv.Itoa(a.Number)},
		{"Waybill-Failures", strconv.Itoa(a.Failures)},
		{"Waybill-Max-Failures", most},
		{"Waybill-Deadline", until},
		{"Waybill-Event", a.Event},
		{"Waybill-Replay", a.Replay},
		{"Idempotency-Key", a.IdempotencyKey()},
		{"Traceparent", a.Headers["traceparent"]},
		{"Tracestate", a.Headers["tracestate"]},
	} {
		if f.value != "" {
			h.Set(f.name, headerValue(f.value))
		}
	}
	if h.Get("Content-Type") == "" {
		h.Set("Content-Type", contentType(a.Payload))
	}
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", "Waybill")
	}
	if s.o.Secret != nil {
		id := messageID(a.IdempotencyKey())
		h.Set(headerID, id)
		h.Set(headerTimestamp, strconv.FormatInt(now.Unix(), 10))
		h.Set(headerSignature, sign(s.o.Secret, id, now, a.Payload))
	}
	return h
}

func contentType(payload []byte) string {
	if json.Valid(payload) {
		return "application/json"
	}
	return "application/octet-stream"
}

// CheckHeader checks a header that is to be sent with each job: its name, that it is not one of ours, and that its
// value is printable ASCII.
func CheckHeader(name, value string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isTokenRune(r) }) {
		return fmt.Errorf("%q is no header's name", name)
	}
	key := http.CanonicalHeaderKey(name)
	switch key {
	case "Idempotency-Key", "Traceparent", "Tracestate", headerID, headerTimestamp, headerSignature,
		"Host", "Connection", "Content-Length", "Transfer-Encoding", "Te", "Trailer", "Upgrade", "Proxy-Connection", "Keep-Alive":
		return fmt.Errorf("header %s is not yours to set", key)
	}
	if strings.HasPrefix(key, "Waybill-") {
		return fmt.Errorf("header %s is not yours to set", key)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
		return fmt.Errorf("the value of header %s holds what is not printable ASCII", key) // it may be secret
	}
	return nil
}

// isTokenRune tells whether a header's name may hold it (RFC 9110, 5.6.2).
func isTokenRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
