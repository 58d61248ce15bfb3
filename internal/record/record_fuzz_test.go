package record_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/record"
)

// known tells the errors that a decoder may give.
func known(err error) bool {
	return errors.Is(err, record.ErrDamaged) || errors.Is(err, record.ErrNewer) || errors.Is(err, record.ErrInvalid)
}

// FuzzParse_OtherFormats reads records of other versions: they are left alone, whatever stands behind the first byte.
func FuzzParse_OtherFormats(f *testing.F) {
	good := stored(record.Head{Seq: 1}, time.UnixMilli(1), record.Job{Kind: "k", Scope: "s", Payload: []byte("p")}.Blob())
	f.Add(byte('0'), good[1:])
	f.Add(byte('2'), good[1:])
	f.Add(byte('1'), append(bytes.Clone(good[1:len(good)-2]), "\x63\x02xy\x00p"...)) // a field of a later version
	f.Add(byte(0), []byte(nil))
	f.Fuzz(func(t *testing.T, format byte, rest []byte) {
		_, err := record.Parse(append([]byte{format}, rest...))
		if format != record.Format && !errors.Is(err, record.ErrNewer) {
			t.Errorf("format %q is not left alone: %v", format, err)
		}
		if err != nil && !known(err) {
			t.Errorf("error without sentinel: %v", err)
		}
	})
}

// FuzzParseDraft reads bodies of an outbox's rows, ours and those of other languages. What is packed again says the same.
func FuzzParseDraft(f *testing.F) {
	for _, d := range []record.Draft{
		{Job: record.Job{Kind: "k", Payload: []byte("p"), Named: true}},
		{Priority: 7, LIFO: true, Spill: true, Job: record.Job{Kind: "k", Delay: time.Second, Headers: map[string]string{"a": "b"}}},
	} {
		f.Add(d.Pack())
	}
	f.Add([]byte("2later"))
	f.Add([]byte(`{"kind":"k","payload":{"a":1},"delay_ms":5,"headers":{"a":"b"}}`))
	f.Add([]byte(`{"kind":"k","payload_base64":"eA==","at":"2026-01-31T12:00:00Z"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := record.ParseDraft(raw)
		if err != nil {
			if !known(err) {
				t.Errorf("error without sentinel: %v", err)
			}
			return
		}
		again, err := record.ParseDraft(d.Pack())
		if d.Job.Check("id", d.Priority) != nil {
			return // it would be set aside
		}
		if err != nil || again.Fingerprint() != d.Fingerprint() || !bytes.Equal(again.Job.Payload, d.Job.Payload) {
			t.Errorf("packed again: %v\n%+v\n%+v", err, d, again)
		}
	})
}

// FuzzParseEvent reads events of a topic's stream.
func FuzzParseEvent(f *testing.F) {
	blob := string(record.Job{Kind: "k", Headers: map[string]string{"a": "b"}}.Blob())
	f.Add(blob, "payload")
	f.Add(blob[:14], "")
	f.Fuzz(func(t *testing.T, head, payload string) {
		j, err := record.ParseEvent(head, payload)
		if err == nil && string(j.Payload) != payload || err != nil && !known(err) {
			t.Errorf("payload %q, error %v", j.Payload, err)
		}
	})
}

// FuzzElement reads what stands in indexes.
func FuzzElement(f *testing.F) {
	f.Add(record.Head{Seq: 7, Priority: 3, LIFO: true}.Element("id"))
	f.Add("3e8f00000000001:x")
	f.Add("3e8F+0000000001:x")
	f.Fuzz(func(t *testing.T, el string) {
		text, id, err := record.SplitElement(el)
		if err != nil {
			return
		}
		h, err := record.ParseHead(text)
		if id == "" || err != nil && !known(err) {
			t.Errorf("id %q, error %v", id, err)
		}
		if err == nil && !h.Left && h.Seq < 1<<44 && len(h.Element(id)) != len(el) {
			t.Errorf("%q comes back as %q", el, h.Element(id))
		}
	})
}
