package record

import (
	"bytes"
	"fmt"
)

// ParseEvent reads an event as it stands in a topic's stream: head, which is a job's blob before its payload, and payload.
// Errors: ErrDamaged.
func ParseEvent(head, payload string) (Job, error) {
	const lead = lineAt - blobAt // source, outbox, fingerprint
	if len(head) <= lead {
		return Job{}, fmt.Errorf("%w: head of %d bytes", ErrDamaged, len(head))
	}
	var r Record
	r.Named = head[0] == 'n'
	line, fields, ok := bytes.Cut([]byte(head[lead:]), []byte("\n"))
	if !ok {
		return Job{}, fmt.Errorf("%w: the line does not end", ErrDamaged)
	}
	if err := r.parseLine(string(line)); err != nil {
		return Job{}, err
	}
	if err := r.parseFields(fields); err != nil {
		return Job{}, err
	}
	r.Payload = []byte(payload)
	return r.Job, nil
}
