package waybilltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/codec"
	"github.com/waybillhq/waybill/internal/store"
)

// Enqueued gives the arguments of all jobs of a kind, in whatever queue, that were enqueued through the Env's client and
// taken: in order, each job once, also those that were worked off.
func Enqueued[In any](e *Env, k waybill.Typed[In]) []In {
	e.t.Helper()
	return arguments(e.t, e, wanted[In]{k, false, nil})
}

// RequireEnqueued gives the arguments of the first job of a kind for which each match is true; it fails the test where
// there is none, and tells what was enqueued instead. It looks at the jobs that Enqueued gives.
func RequireEnqueued[In any](t testing.TB, e *Env, k waybill.Typed[In], match ...func(In) bool) In {
	t.Helper()
	found := arguments(t, e, wanted[In]{k, false, match})
	if len(found) == 0 {
		t.Fatalf("waybilltest: no job of kind %s%s was enqueued; enqueued were %s", k.Name(), matching(match), e.list())
	}
	return found[0]
}

// RequireNotEnqueued fails the test where a job of a kind for which each match is true was enqueued.
func RequireNotEnqueued[In any](t testing.TB, e *Env, k waybill.Typed[In], match ...func(In) bool) {
	t.Helper()
	if found := arguments(t, e, wanted[In]{k, false, match}); len(found) > 0 {
		t.Fatalf("waybilltest: %d jobs of kind %s%s were enqueued; the first: %+v; enqueued were %s",
			len(found), k.Name(), matching(match), found[0], e.list())
	}
}

// RequireState gives all that is known of a job of a kind, and fails the test where it is in another state. Jobs
// without retention are known by state alone once they have completed.
func RequireState[In any](t testing.TB, e *Env, k waybill.Typed[In], id string, want waybill.State) waybill.JobInfo {
	t.Helper()
	for _, r := range e.sent.all() {
		if _, event := store.TopicOf(r.Queue); event || r.ID != id || r.Kind != k.Name() {
			continue
		}
		info, err := e.Client.Queue(r.Queue).Get(t.Context(), id)
		if err != nil {
			t.Fatalf("waybilltest: %v", err)
		}
		if info.State != want {
			t.Fatalf("waybilltest: job %s of kind %s is %s, not %s%s", id, k.Name(), info.State, want, why(info))
		}
		return info
	}
	t.Fatalf("waybilltest: no job %s of kind %s was enqueued; enqueued were %s", id, k.Name(), e.list())
	return waybill.JobInfo{}
}

// why is what a job's last attempt or its cancel said.
func why(info waybill.JobInfo) string {
	if n := len(info.Errors); n > 0 {
		return ": " + info.Errors[n-1].Message
	}
	if info.Reason != "" {
		return ": " + info.Reason
	}
	return ""
}

func matching[In any](match []func(In) bool) string {
	if len(match) == 0 {
		return ""
	}
	return " that matches"
}

// wanted are jobs of a kind, or events of a topic, that match.
type wanted[In any] struct {
	of     waybill.Typed[In]
	events bool
	match  []func(In) bool
}

// arguments of what is wanted among all that was sent.
func arguments[In any](t testing.TB, e *Env, want wanted[In]) []In {
	t.Helper()
	var out []In
	for _, r := range e.sent.all() {
		if _, event := store.TopicOf(r.Queue); event != want.events || r.Kind != want.of.Name() {
			continue
		}
		var args In
		if err := codec.Decode(r.Payload, &args); err != nil {
			t.Fatalf("waybilltest: decode payload of job %s, kind %s: %v", r.ID, r.Kind, err)
		}
		if holds(args, want.match) {
			out = append(out, args)
		}
	}
	return out
}

func holds[In any](args In, match []func(In) bool) bool {
	for _, m := range match {
		if !m(args) {
			return false
		}
	}
	return true
}

// Bounds of what a failed test is shown.
const (
	listJobs    = 20
	listPayload = 200 // bytes
)

// list tells the jobs that were enqueued and the events that were published, a line each.
func (e *Env) list() string {
	all := e.sent.all()
	if len(all) == 0 {
		return "none"
	}
	var out strings.Builder
	for i, r := range all {
		if i == listJobs {
			fmt.Fprintf(&out, "\n\tand %d more", len(all)-i)
			break
		}
		payload := r.Payload
		if len(payload) > listPayload {
			payload = append(payload[:listPayload:listPayload], "…"...)
		}
		if topic, event := store.TopicOf(r.Queue); event {
			fmt.Fprintf(&out, "\n\tevent of topic %s, ID %s: %s", topic, r.ID, payload)
			continue
		}
		fmt.Fprintf(&out, "\n\t%s in queue %s, ID %s: %s", r.Kind, r.Queue, r.ID, payload)
	}
	return out.String()
}
