package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
)

// objectLines are JSON objects, one a job or event. The request is for what they say nothing of.
type objectLines struct {
	common waybill.Request
	fields fieldSet
}

// most has room for the largest payload with every byte of it escaped, and for headers and ID.
func (o objectLines) most() int { return 6*(record.MaxPayload+record.MaxHeaderSize) + 16<<10 }

func (o objectLines) job(l line) (lineJob, error) {
	r, err := o.request(l)
	return lineJob{Request: r}, err
}

func (o objectLines) request(l line) (waybill.Request, error) {
	r := numbered(o.common, l)
	if l.size > int64(o.most()) {
		return r, fieldError("line", "is %d bytes: at most %d", l.size, o.most())
	}
	fields, err := objectFields(l.text, o.fields)
	if err != nil {
		return r, err
	}
	if fields.has("delay_ms") || fields.has("at") {
		r.Delay, r.At = 0, waybill.Request{}.At
	}
	for _, f := range fields {
		if failed := f.set(&r); failed != nil && err == nil {
			err = failed
		}
	}
	switch {
	case err != nil:
	case r.Kind == "":
		err = fieldError("kind", "is missing: give it in the line, or KIND for all lines")
	case fields.has("payload") && fields.has("payload_base64"):
		err = fieldError("payload", "stands beside payload_base64: give one")
	case fields.has("delay_ms") && fields.has("at"):
		err = fieldError("at", "stands beside delay_ms: give one")
	case len(r.Payload) > record.MaxPayload:
		err = tooLong(int64(len(r.Payload)))
	}
	return r, err
}

func fieldError(field, format string, args ...any) error {
	return &record.InputError{Field: field, Why: fmt.Sprintf(format, args...)}
}

// jobField is a field of an object, its value as spelled.
type jobField struct {
	name  string
	value json.RawMessage
	to    fieldSetter
}

type jobFields []jobField

// has tells whether a field says something: null does not.
func (f jobFields) has(name string) bool {
	return slices.ContainsFunc(f, func(f jobField) bool { return f.name == name })
}

// objectFields reads an object, each name once; those that are null are left out.
func objectFields(text []byte, set fieldSet) (fields jobFields, err error) {
	if !utf8.Valid(text) {
		return nil, fieldError("line", "is not UTF-8: give other payloads as payload_base64")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, fieldError("line", "is no JSON object: give {…} in one line")
	}
	names := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, syntax(err)
		}
		f := jobField{name: key.(string)} //nolint:forcetypeassert // the key of an object is a string
		if err := d.Decode(&f.value); err != nil {
			return nil, syntax(err)
		}
		f.to = set.setters[f.name]
		switch {
		case f.to == nil:
			return nil, fieldError(f.name, "is not a field of %s: give %s", set.of, strings.Join(set.names, ", "))
		case names[f.name]:
			return nil, fieldError(f.name, "stands there twice")
		}
		if names[f.name] = true; string(f.value) != "null" {
			fields = append(fields, f)
		}
	}
	if _, err = d.Token(); err != nil {
		return nil, syntax(err)
	}
	if _, err = d.Token(); !errors.Is(err, io.EOF) {
		return nil, fieldError("line", "goes on behind the object: give one object a line")
	}
	return fields, nil
}

func syntax(err error) error { return fieldError("line", "is no JSON: %v", err) }
