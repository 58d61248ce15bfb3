package pipe_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/cmd/waybill/internal/pipe"
)

func fields(t *testing.T, raw []byte) map[string]json.RawMessage {
	t.Helper()
	var out map[string]json.RawMessage
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestJobLine(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 9, 0, 0, 250_000_000, time.UTC)
	line, err := pipe.JobLine(&waybill.Attempt{
		ID: "a\nb", Queue: "q", Kind: "k", Token: "1-x.1", Payload: []byte("{\"a\":\n1}"), Number: 3, Failures: 1, Crashes: 1,
		MaxFailures: waybill.Unlimited, Priority: 5, EnqueuedAt: at, DueAt: at,
		BornAt: at, Scope: "first",
	}, at.Add(time.Minute))
	if err != nil || bytes.Count(line, []byte("\n")) != 1 || !bytes.HasSuffix(line, []byte("\n")) {
		t.Fatalf("it is not one line: %q, %v", line, err)
	}
	got := fields(t, line)
	t.Run("it has all fields of a job, and three more", func(t *testing.T) {
		t.Parallel()
		raw, err := json.Marshal(waybill.JobInfo{Known: true})
		if err != nil {
			t.Fatal(err)
		}
		want := append(slices.Collect(maps.Keys(fields(t, raw))), "type", "idempotency_key", "deadline_at")
		slices.Sort(want)
		if d := cmp.Diff(want, slices.Sorted(maps.Keys(got))); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
	t.Run("what is known is told, the rest is null", func(t *testing.T) {
		t.Parallel()
		for name, want := range map[string]string{
			"type": `"job"`, "id": `"a\nb"`, "state": `"active"`, "payload": `"{\"a\":\n1}"`, "payload_base64": "null", "attempt": "3",
			"failures": "1", "crashes": "1", "max_failures": "-1", "headers": "{}", "enqueued_at": `"2026-01-31T09:00:00.250Z"`,
			"deadline_at": `"2026-01-31T09:01:00.250Z"`, "idempotency_key": `"k/a\nb"`, "snoozes": "null", "errors": "null",
			"born_at": `"2026-01-31T09:00:00.250Z"`, "scope": `"first"`, "event": "null", "replay": "null", "again": "false",
		} {
			if string(got[name]) != want {
				t.Errorf("%s is %s, want %s", name, got[name], want)
			}
		}
	})
}

func TestJobLine_event(t *testing.T) {
	t.Parallel()
	line, err := pipe.JobLine(&waybill.Attempt{
		ID: "again/e1", Queue: "orders/billing", Kind: "orders", Token: "1-x.1", Scope: "orders/billing", Event: "e1", Replay: "again",
	}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	got := fields(t, line)
	for name, want := range map[string]string{
		"id": `"again/e1"`, "event": `"e1"`, "replay": `"again"`, "idempotency_key": `"orders/billing/e1"`,
	} {
		t.Run(name+" tells of the event", func(t *testing.T) {
			t.Parallel()
			if string(got[name]) != want {
				t.Errorf("%s, want %s", got[name], want)
			}
		})
	}
}
