package main

import (
	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/outbox"
)

// rowObject is the object of a row. Where the body can't be read its fields are null, and body_base64 has it.
type rowObject struct {
	Seq           int64             `json:"seq"`
	Queue         string            `json:"queue"`
	ID            string            `json:"id"`
	Key           *string           `json:"key"`
	State         string            `json:"state"`
	Reason        *string           `json:"reason"`
	EnteredAt     *string           `json:"entered_at"`
	DueAt         *string           `json:"due_at"`
	EndedAt       *string           `json:"ended_at"`
	Kind          *string           `json:"kind"`
	Payload       *string           `json:"payload"`
	PayloadBase64 *string           `json:"payload_base64"`
	Headers       map[string]string `json:"headers"`
	Priority      *int              `json:"priority"`
	LIFO          *bool             `json:"lifo"`
	MaxFailures   *int              `json:"max_failures"` // null = as its worker says
	RetentionMS   *int64            `json:"retention_ms"`
	Version       *int              `json:"version"`
	OnFull        *string           `json:"on_full"`
	Unusable      *string           `json:"unusable"` // why it can be no job
	BodyBase64    []byte            `json:"body_base64"`
}

func rowObjectOf(r outbox.Row) rowObject {
	o := rowObject{
		Seq: r.Seq, Queue: r.Queue, ID: r.ID, Key: orNil(r.Key), State: string(r.State), Reason: orNil(r.Reason),
		EnteredAt: stampOf(r.EnteredAt), DueAt: stampOf(r.DueAt), EndedAt: stampOf(r.EndedAt),
	}
	if r.Unusable != nil {
		why := oneLine(r.Unusable.Error())
		o.Unusable = &why
	}
	if unreadable(r) {
		o.BodyBase64 = r.Body
		return o
	}
	o.read(r.Request)
	return o
}

// read takes over what the body says.
func (o *rowObject) read(r waybill.Request) {
	o.Kind, o.Priority, o.LIFO, o.Version = orNil(r.Kind), &r.Priority, &r.LIFO, &r.Version
	o.Payload, o.PayloadBase64 = payloadOf(r)
	if o.Headers = r.Headers; o.Headers == nil {
		o.Headers = map[string]string{}
	}
	if r.MaxFailures != 0 {
		o.MaxFailures = &r.MaxFailures
	}
	retention, onFull := r.Retention.Milliseconds(), "wait"
	if r.OnFull == waybill.FullSpill {
		onFull = "spill"
	}
	o.RetentionMS, o.OnFull = &retention, &onFull
}

// payloadOf is a payload as text, or else as base64; an empty one is a text.
func payloadOf(r waybill.Request) (text, encoded *string) {
	return textOrBase64(append([]byte{}, r.Payload...))
}
