package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

// fieldSet are the fields that the object of a line may have.
type fieldSet struct {
	of      string // whose they are
	names   []string
	setters map[string]fieldSetter
}

// fieldSetter sets one field of a request, or says what is wrong with its value.
type fieldSetter func(r *waybill.Request, value json.RawMessage) (why string)

// ofJob are the fields of a job.
func ofJob() fieldSet { return fieldSet{"a job", fieldNames, jobSetters} }

// ofEvent are the fields of an event.
func ofEvent() fieldSet {
	s := fieldSet{"an event", []string{"id", "kind", "topic", "payload", "payload_base64", "headers"}, map[string]fieldSetter{}}
	for _, name := range s.names {
		s.setters[name] = jobSetters[name]
	}
	s.setters["topic"] = setTopic
	return s
}

// fieldNames are the fields of a job, in the order in which they are told.
var fieldNames = []string{
	"id", "kind", "queue", "payload", "payload_base64", "delay_ms", "at", "priority", "lifo", "max_failures",
	"retention_ms", "headers",
}

var jobSetters = map[string]fieldSetter{
	"id": func(r *waybill.Request, v json.RawMessage) string {
		why := setText(&r.ID, v)
		if why == "" && r.ID == "" {
			return "is empty: leave it out to have one generated"
		}
		return why
	},
	"kind": func(r *waybill.Request, v json.RawMessage) string { return setText(&r.Kind, v) },
	"queue": func(r *waybill.Request, v json.RawMessage) string {
		queue := r.Queue
		if why := setText(&queue, v); why != "" {
			return why
		}
		if queue != r.Queue {
			return "is " + strconv.Quote(queue) + ": all lines go to queue " + r.Queue
		}
		return ""
	},
	"payload":        setPayload,
	"payload_base64": setBytes,
	"delay_ms": func(r *waybill.Request, v json.RawMessage) string {
		return setSpan(&r.Delay, v)
	},
	"at": setAt,
	"priority": func(r *waybill.Request, v json.RawMessage) string {
		return setNumber(&r.Priority, v, -1000, 1000, "from -1000 to 1000")
	},
	"lifo": func(r *waybill.Request, v json.RawMessage) string {
		if json.Unmarshal(v, &r.LIFO) != nil {
			return "is no boolean: give true or false"
		}
		return ""
	},
	"max_failures": setMaxFailures,
	"retention_ms": func(r *waybill.Request, v json.RawMessage) string {
		return setSpan(&r.Retention, v)
	},
	"headers": setHeaders,
}

// set sets the field. Errors: ErrInvalid, by the field's name.
func (f jobField) set(r *waybill.Request) error {
	if why := f.to(r, f.value); why != "" {
		return fieldError(f.name, "%s", why)
	}
	return nil
}

// setTopic takes the topic's own name.
func setTopic(r *waybill.Request, v json.RawMessage) string {
	own, name := "", ""
	if why := setText(&name, v); why != "" {
		return why
	}
	if own, _ = store.TopicOf(r.Queue); own != name {
		return "is " + strconv.Quote(name) + ": all lines go to topic " + own
	}
	return ""
}

// setText takes a string. One with half a surrogate pair is refused: it could not be kept as spelled.
func setText(to *string, v json.RawMessage) string {
	if len(v) == 0 || v[0] != '"' || json.Unmarshal(v, to) != nil {
		return "is no string"
	}
	replaced := strings.Count(*to, string(utf8.RuneError))
	if replaced > bytes.Count(v, []byte(string(utf8.RuneError)))+strings.Count(strings.ToLower(string(v)), `\ufffd`) {
		return `holds half a surrogate pair (\ud800 to \udfff alone): that is no character`
	}
	return ""
}

// setPayload takes a string's text, and of all else the JSON text as spelled.
func setPayload(r *waybill.Request, v json.RawMessage) string {
	if v[0] != '"' {
		r.Payload = v
		return ""
	}
	text := ""
	why := setText(&text, v)
	r.Payload = []byte(text)
	return why
}

func setBytes(r *waybill.Request, v json.RawMessage) string {
	if v[0] != '"' || json.Unmarshal(v, &r.Payload) != nil {
		return "is no base64: give a string of the standard alphabet, with padding"
	}
	return ""
}

func setAt(r *waybill.Request, v json.RawMessage) string {
	text, at := "", timeFlag{}
	if why := setText(&text, v); why != "" {
		return why
	}
	if err := at.Set(text); err != nil {
		return "is " + strconv.Quote(text) + ": " + err.Error()
	}
	r.At = at.t
	return ""
}

func setNumber(to *int, v json.RawMessage, least, most int64, bounds string) string {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n < least || n > most {
		return "is " + string(v) + ": give a whole number " + bounds
	}
	*to = int(n)
	return ""
}

// setSpan takes milliseconds; the request's own check knows how many there may be at most.
func setSpan(to *time.Duration, v json.RawMessage) string {
	n := 0
	why := setNumber(&n, v, 0, math.MaxInt64/int64(time.Millisecond), "of milliseconds from 0 on")
	*to = time.Duration(n) * time.Millisecond
	return why
}

func setMaxFailures(r *waybill.Request, v json.RawMessage) string {
	why := setNumber(&r.MaxFailures, v, waybill.Unlimited, math.MaxInt32, "from 1 on, or -1 for unlimited")
	if why == "" && r.MaxFailures == 0 {
		return "is 0: give a whole number from 1 on, or -1 for unlimited"
	}
	return why
}

func setHeaders(r *waybill.Request, v json.RawMessage) string {
	own := map[string]string{}
	if json.Unmarshal(v, &own) != nil {
		return "is no object of strings"
	}
	for name, value := range own {
		r.SetHeader(name, value)
	}
	return ""
}
