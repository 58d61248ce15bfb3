package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Format is the version byte that this package writes and reads.
const Format = '1'

// NoOutbox is the outbox byte of a job that no outbox sent.
const NoOutbox = '-'

// Positions in a record, counted from 0.
const (
	orderAt = 4
	timeAt  = 16
	blobAt  = 27
	lineAt  = 40
)

// Tags of the opaque fields. Unknown tags are skipped, so fields can be added.
const (
	tagEnd         = 0
	tagMaxFailures = 1
	tagVersion     = 2
	tagBorn        = 3
	tagHeader      = 4
	tagScope       = 5
	tagEvent       = 6
	tagReplay      = 7
	tagAgain       = 8
)

// ErrNewer says that a record has a format that this program does not know: it was
// written by a newer version of Waybill, and is left alone.
var ErrNewer = errors.New("record has a newer format")

// LostKeep stands for the Keep of a record that can't be read: generated ID, no outbox, no known fingerprint.
const LostKeep = "g------------"

// ErrDamaged says that bytes are not a record.
var ErrDamaged = errors.New("record is damaged")

// Job is what a producer says of a job. The zero value of each optional field means "none".
type Job struct {
	Kind        string
	Payload     []byte
	Named       bool              // the ID was given, not generated
	Outbox      byte              // 0 or NoOutbox: none; else a base-62 character
	Delay       time.Duration     // from enqueue; whole milliseconds
	At          time.Time         // due time; beats Delay
	Retention   time.Duration     // of the ended job and its result
	MaxFailures int               // 0: the worker's; negative: unlimited
	Version     int               // of the payload's shape
	Born        time.Time         // zero: the due time
	Scope       string            // queue of its first enqueue; "": the queue it is in
	Event       string            // of a replay: the ID of the event; "": of a subscription's job its own ID
	Replay      string            // which replay brought the job; "": none did
	Again       bool              // of a replay: effects are to be repeated
	Headers     map[string]string // outside the fingerprint
}

// Blob is the part of the record that the client makes.
func (j Job) Blob() []byte {
	b := make([]byte, 0, 13+len(j.Kind)+16+len(j.Payload)+32*len(j.Headers))
	b = append(b, source(j.Named), outbox(j.Outbox))
	b = appendFingerprint(b, j.Kind, j.Payload)
	b = append(b, j.Kind...)
	if !j.At.IsZero() {
		b = appendHex(b, 'a', j.At.UnixMilli())
	} else if ms := j.Delay.Milliseconds(); ms > 0 {
		b = appendHex(b, 'd', ms)
	}
	if ms := j.Retention.Milliseconds(); ms > 0 {
		b = appendHex(b, 'r', ms)
	}
	b = append(b, '\n')
	return append(j.appendFields(b), j.Payload...)
}

func (j Job) appendFields(b []byte) []byte {
	if j.MaxFailures != 0 {
		b = appendNumber(b, tagMaxFailures, int64(j.MaxFailures))
	}
	if j.Version != 0 {
		b = appendNumber(b, tagVersion, int64(j.Version))
	}
	if !j.Born.IsZero() {
		b = appendNumber(b, tagBorn, j.Born.UnixMilli())
	}
	if j.Scope != "" {
		b = appendField(b, tagScope, []byte(j.Scope))
	}
	if j.Event != "" {
		b = appendField(b, tagEvent, []byte(j.Event))
	}
	if j.Replay != "" {
		b = appendField(b, tagReplay, []byte(j.Replay))
	}
	if j.Again {
		b = appendField(b, tagAgain, nil)
	}
	for _, k := range sortedKeys(j.Headers) {
		field := binary.AppendUvarint(nil, uint64(len(k)))
		field = append(append(field, k...), j.Headers[k]...)
		b = appendField(b, tagHeader, field)
	}
	return append(b, tagEnd)
}

// Record is a stored record, read.
type Record struct {
	Job
	Head        Head
	EnqueuedAt  time.Time
	Fingerprint string
	// Keep is source, outbox and fingerprint as stored: what a settle hands back.
	Keep string
}

// DueAt is when the job was first due: the time of enqueue where nothing else was asked.
func (r Record) DueAt() time.Time {
	if !r.At.IsZero() {
		return r.At
	}
	return r.EnqueuedAt.Add(r.Delay)
}

// BornAt is the time by which receipts judge the job's age. It never changes. A due time that was past already makes no job
// older than its enqueue.
func (r Record) BornAt() time.Time {
	switch due := r.DueAt(); {
	case !r.Born.IsZero():
		return r.Born
	case due.Before(r.EnqueuedAt):
		return r.EnqueuedAt
	default:
		return due
	}
}

// Parse reads a stored record. The payload shares memory with raw. Errors: ErrNewer, ErrDamaged.
func Parse(raw []byte) (Record, error) {
	if len(raw) == 0 {
		return Record{}, fmt.Errorf("%w: empty", ErrDamaged)
	}
	if raw[0] != Format {
		return Record{}, fmt.Errorf("%w: %q, known is %q", ErrNewer, raw[0], Format)
	}
	if len(raw) <= lineAt {
		return Record{}, fmt.Errorf("%w: %d bytes", ErrDamaged, len(raw))
	}
	var r Record
	var err error
	fixed := string(raw[:lineAt])
	if r.Head, err = ParseHead(fixed[1:timeAt]); err != nil {
		return Record{}, err
	}
	if r.EnqueuedAt, err = ParseTime(fixed[timeAt:blobAt]); err != nil {
		return Record{}, err
	}
	r.Keep = fixed[blobAt:]
	r.Named, r.Outbox, r.Fingerprint = raw[blobAt] == 'n', raw[blobAt+1], r.Keep[2:]
	end := bytes.IndexByte(raw[lineAt:], '\n')
	if end < 0 {
		return Record{}, fmt.Errorf("%w: the line does not end", ErrDamaged)
	}
	if err := r.parseLine(string(raw[lineAt : lineAt+end])); err != nil {
		return Record{}, err
	}
	return r, r.parseFields(raw[lineAt+end+1:])
}

func (r *Record) parseLine(line string) error {
	kind, options, more := strings.Cut(line, " ")
	r.Kind = kind
	for more {
		var w string
		w, options, more = strings.Cut(options, " ")
		if w == "" {
			return fmt.Errorf("%w: empty word in line %q", ErrDamaged, line)
		}
		ms, err := strconv.ParseInt(w[1:], 16, 64)
		if err != nil {
			return fmt.Errorf("%w: line %q", ErrDamaged, line)
		}
		switch w[0] {
		case 'd':
			r.Delay = time.Duration(ms) * time.Millisecond
		case 'a':
			r.At = time.UnixMilli(ms)
		case 'r':
			r.Retention = time.Duration(ms) * time.Millisecond
		}
	}
	return nil
}

func (r *Record) parseFields(b []byte) error {
	for {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return fmt.Errorf("%w: field tag", ErrDamaged)
		}
		if b = b[n:]; tag == tagEnd {
			r.Payload = b
			return nil
		}
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return fmt.Errorf("%w: length of field %d", ErrDamaged, tag)
		}
		if err := r.setField(tag, b[n:n+int(size)]); err != nil {
			return err
		}
		b = b[n+int(size):]
	}
}

func (r *Record) setField(tag uint64, b []byte) error {
	if tag == tagHeader {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return fmt.Errorf("%w: header", ErrDamaged)
		}
		if r.Headers == nil {
			r.Headers = map[string]string{}
		}
		r.Headers[string(b[n:n+int(size)])] = string(b[n+int(size):])
		return nil
	}
	switch tag {
	case tagScope:
		r.Scope = string(b)
		return nil
	case tagEvent:
		r.Event = string(b)
		return nil
	case tagReplay:
		r.Replay = string(b)
		return nil
	case tagAgain:
		r.Again = true
		return nil
	}
	if tag > tagAgain { // of a later version
		return nil
	}
	v, n := binary.Varint(b)
	if n <= 0 {
		return fmt.Errorf("%w: field %d", ErrDamaged, tag)
	}
	switch tag {
	case tagMaxFailures:
		r.MaxFailures = int(v)
	case tagVersion:
		r.Version = int(v)
	case tagBorn:
		r.Born = time.UnixMilli(v)
	}
	return nil
}

func source(named bool) byte {
	if named {
		return 'n'
	}
	return 'g'
}

func outbox(b byte) byte {
	if b == 0 {
		return NoOutbox
	}
	return b
}

func appendHex(b []byte, letter byte, ms int64) []byte {
	return strconv.AppendInt(append(b, ' ', letter), ms, 16)
}

func appendNumber(b []byte, tag uint64, v int64) []byte {
	return appendField(b, tag, binary.AppendVarint(nil, v))
}

func appendField(b []byte, tag uint64, field []byte) []byte {
	b = binary.AppendUvarint(b, tag)
	b = binary.AppendUvarint(b, uint64(len(field)))
	return append(b, field...)
}

func sortedKeys(m map[string]string) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
