package waybill_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waybillhq/waybill"
)

// asJSON encodes and reads back, so that field names and nulls are compared.
func asJSON(t *testing.T, v any) map[string]any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestJobInfo_JSON(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.FixedZone("", 3600))
	t.Run("every field is there", func(t *testing.T) {
		got := asJSON(t, waybill.JobInfo{
			ID: "x", Queue: "mail", Kind: "k", State: waybill.StateDead, Known: true, Payload: []byte(`{"n":9007199254740993}`),
			Result: []byte{0xff}, Attempt: 2, Failures: 2, EnqueuedAt: at, Retention: time.Second, Token: "2-w.1", Worker: "w",
			Errors:   []waybill.JobError{{Attempt: 1, At: at, Type: "failure", Message: "boom", Worker: "w"}},
			Progress: &waybill.Progress{Percent: 40, Note: "half", At: at},
		})
		want := map[string]any{
			"id": "x", "queue": "mail", "kind": "k", "state": "dead", "payload": `{"n":9007199254740993}`, "payload_base64": nil,
			"result": nil, "result_base64": "/w==", "token": "2-w.1", "worker": "w", "host": nil, "reason": nil,
			"attempt": 2.0, "failures": 2.0, "crashes": 0.0, "snoozes": 0.0, "max_failures": 25.0, "priority": 0.0,
			"lifo": false, "result_dropped": false, "cancel_requested": false, "retention_ms": 1000.0,
			"headers": map[string]any{}, "enqueued_at": "2026-01-02T02:04:05.678Z", "due_at": nil,
			"progress":   map[string]any{"percent": 40.0, "note": "half", "at": "2026-01-02T02:04:05.678Z"},
			"started_at": nil, "finished_at": nil, "lease_ends_at": nil, "version": 0.0, "born_at": nil, "scope": "mail",
			"event": nil, "replay": nil, "again": false,
			"max_failures_given": false,
			"errors": []any{map[string]any{
				"attempt": 1.0, "at": "2026-01-02T02:04:05.678Z", "type": "failure", "message": "boom", "worker": "w", "stack": nil,
			}},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
	t.Run("a job that only the window knows has state and ID, the rest null", func(t *testing.T) {
		got := asJSON(t, waybill.JobInfo{ID: "x", Queue: "mail", State: waybill.StateCompleted, Token: "1-w.1"})
		for field, v := range got {
			known := field == "id" || field == "queue" || field == "state"
			if !known && v != nil {
				t.Errorf("%s is %v", field, v)
			}
		}
		if len(got) != 37 {
			t.Errorf("%d fields", len(got))
		}
	})
}

func TestQueueStats_JSON(t *testing.T) {
	got := asJSON(t, waybill.QueueStats{Queue: "mail"})
	for _, field := range strings.Fields(`queue at ready urgent scheduled retry parked active spilled dead kept workers capacity
		oldest_ready_ms paused paused_by dedupe_horizon_ms dedupe_horizon_generated_ms accepted requeued completed died
		cancelled deleted deliveries failures crashes snoozes released stale duplicates conflicts rejected dead_cut
		effects suppressed mismatches`) {
		if _, ok := got[field]; !ok {
			t.Errorf("%s is missing", field)
		}
	}
}

func TestAttempt_IdempotencyKey(t *testing.T) {
	a := &waybill.Attempt{Kind: "charge", ID: "order-17", Number: 3}
	if got := a.IdempotencyKey(); got != "charge/order-17" {
		t.Errorf("key %q", got)
	}
	if got := a.IdempotencyKey("refund"); got != "charge/order-17/refund" {
		t.Errorf("key %q", got)
	}
	a.ID = strings.Repeat("x", 255)
	if got := a.IdempotencyKey(); len(got) != 64 || got == (&waybill.Attempt{Kind: "charge", ID: a.ID + "y"}).IdempotencyKey() {
		t.Errorf("a long key is its SHA-256 in hex: %q", got)
	}
}
