package record

import (
	"bytes"
	"fmt"
	"time"
)

// Draft is a job as an outbox keeps it until it is sent: all that a record says but its place in the queue and the time of
// its enqueue.
type Draft struct {
	Queue, ID string // beside the bytes, not in them
	Priority  int
	LIFO      bool
	Spill     bool // kept aside where the queue is full
	Job       Job

	late bool // its row knows nothing of a delay: when it is due is yet to be reckoned
}

// spillLetter and plainLetter stand behind the order.
const (
	plainLetter = 'r'
	spillLetter = 's'
	draftBlobAt = 1 + len(PlainOrder) + 1
)

// Pack makes the bytes that are kept: format, order, a letter, blob.
func (d Draft) Pack() []byte {
	blob := d.Job.Blob()
	b := make([]byte, 0, draftBlobAt+len(blob))
	b = append(append(b, Format), Order(d.Priority, d.LIFO)...)
	letter := byte(plainLetter)
	if d.Spill {
		letter = spillLetter
	}
	return append(append(b, letter), blob...)
}

// Later says whether the job is due at a time of its own, and not at once.
func (d Draft) Later() bool { return d.Job.Delay > 0 || !d.Job.At.IsZero() }

// CheckEvent refuses what an event can't have: what happens to its jobs is for each subscription to say. Errors: ErrInvalid.
func (d Draft) CheckEvent() error {
	for _, no := range []struct {
		field string
		given bool
	}{
		{"priority", d.Priority != 0},
		{"lifo", d.LIFO},
		{"delay", d.Job.Delay != 0},
		{"at", !d.Job.At.IsZero()},
		{"max failures", d.Job.MaxFailures != 0},
		{"retention", d.Job.Retention != 0},
		{"on full", d.Spill},
	} {
		if no.given {
			return bad(no.field, "can't be given to an event: its subscriptions decide, and nothing is spilled")
		}
	}
	return nil
}

// Fingerprint is that of kind and payload.
func (d Draft) Fingerprint() string { return string(appendFingerprint(nil, d.Job.Kind, d.Job.Payload)) }

// ParseDraft reads what Pack made, or a JSON object as other languages write it; queue and ID stay empty. The payload may
// share memory with raw. Errors: ErrNewer, ErrDamaged, ErrInvalid (JSON that
// can't be a job).
func ParseDraft(raw []byte) (Draft, error) {
	if len(raw) == 0 {
		return Draft{}, fmt.Errorf("%w: empty", ErrDamaged)
	}
	if text := bytes.TrimSpace(raw); len(text) > 0 && text[0] == '{' {
		return parseWritten(text)
	}
	if raw[0] < '0' || raw[0] > '9' {
		return Draft{}, bad("body", "is neither a JSON object nor what Waybill wrote")
	}
	if raw[0] != Format {
		return Draft{}, fmt.Errorf("%w: %q, known is %q", ErrNewer, raw[0], Format)
	}
	const blobHead = lineAt - blobAt // source, outbox, fingerprint
	if len(raw) < draftBlobAt+blobHead {
		return Draft{}, fmt.Errorf("%w: %d bytes", ErrDamaged, len(raw))
	}
	head, err := ParseHead(string(raw[1:draftBlobAt-1]) + "00000000000")
	if err != nil {
		return Draft{}, err
	}
	blob := raw[draftBlobAt:]
	var r Record
	r.Named = blob[0] == 'n'
	line, fields, ok := bytes.Cut(blob[blobHead:], []byte("\n"))
	if !ok {
		return Draft{}, fmt.Errorf("%w: the line does not end", ErrDamaged)
	}
	if err := r.parseLine(string(line)); err != nil {
		return Draft{}, err
	}
	if err := r.parseFields(fields); err != nil {
		return Draft{}, err
	}
	return Draft{Priority: head.Priority, LIFO: head.LIFO, Spill: raw[draftBlobAt-1] == spillLetter, Job: r.Job}, nil
}

// Sent is the job as it goes to a queue: number is the outbox's there, born the time that its row gave it. One that is due at
// a time of its own is due when it was born.
func (d Draft) Sent(number byte, born time.Time) Job {
	j := d.Job
	if d.late {
		born = latest(born.Add(j.Delay), j.At)
	}
	j.Outbox, j.Delay, j.At = number, 0, time.Time{}
	if d.Later() {
		j.At = born
	}
	if j.Born.IsZero() {
		j.Born = born
	}
	return j
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
