package waybill_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// plain is a job as an export gives it.
func plain(id string) waybill.JobInfo {
	return waybill.JobInfo{ID: id, State: waybill.StateReady, Known: true, Kind: "k", EnqueuedAt: time.Now()}
}

func TestQueue_Restore_Odd(t *testing.T) {
	t.Parallel()
	far := time.Date(9026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, spoil := range map[string]func(*waybill.JobInfo){
		"attempt":      func(j *waybill.JobInfo) { j.Attempt = -1 },
		"failures":     func(j *waybill.JobInfo) { j.Failures = 1e18 },
		"crashes":      func(j *waybill.JobInfo) { j.Crashes = -1 },
		"snoozes":      func(j *waybill.JobInfo) { j.Snoozes = -1 },
		"enqueued_at":  func(j *waybill.JobInfo) { j.EnqueuedAt = far },
		"due_at":       func(j *waybill.JobInfo) { j.State, j.DueAt = waybill.StateScheduled, far },
		"finished_at":  func(j *waybill.JobInfo) { j.State, j.FinishedAt = waybill.StateDead, far },
		"born_at":      func(j *waybill.JobInfo) { j.BornAt = far },
		"scope":        func(j *waybill.JobInfo) { j.Scope = "no name" },
		"errors":       func(j *waybill.JobInfo) { j.Errors = make([]waybill.JobError, 11) },
		"error":        func(j *waybill.JobInfo) { j.Errors = []waybill.JobError{{Message: strings.Repeat("x", 64<<10)}} },
		"max failures": func(j *waybill.JobInfo) { j.MaxFailures = -2 },
	} {
		t.Run("a job of bad "+name+" is refused, and those beside it are taken", func(t *testing.T) {
			t.Parallel()
			rdb, prefix := redistest.Shared(t)
			c := newClient(t, rdb, prefix)
			bad := plain("bad")
			spoil(&bad)
			said, err := c.Queue("mail").Restore(t.Context(), []waybill.JobInfo{plain("a"), bad, plain("b")})
			var some *waybill.BulkError
			if !errors.As(err, &some) || said[0].Err != nil || said[2].Err != nil {
				t.Fatalf("%+v, %v", said, err)
			}
			if e := said[1]; e.Outcome != waybill.OutcomeInvalid || !strings.HasPrefix(e.Err.Error(), name+": ") {
				t.Errorf("%+v", e)
			}
			if st := stats(t, c, "mail"); st.Ready != 2 {
				t.Errorf("%d are ready", st.Ready)
			}
		})
	}
}

func TestQueue_Restore_Order(t *testing.T) {
	t.Parallel()
	rdb, prefix := redistest.Shared(t)
	c := newClient(t, rdb, prefix)
	for i := range 12 {
		r := waybill.Request{Queue: "from", Kind: "k", ID: fmt.Sprint("j", i), LIFO: i%2 == 0, Priority: i % 3}
		if _, err := c.Enqueue(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	walk := func(queue string) (all []waybill.JobInfo, ids string) {
		for j, err := range c.Queue(queue).Jobs(t.Context(), waybill.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			all, ids = append(all, j), ids+" "+j.ID
		}
		return all, ids
	}
	jobs, want := walk("from")
	for _, part := range [][]waybill.JobInfo{jobs[:5], jobs[5:]} {
		if _, err := c.Queue("to").Restore(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	if _, got := walk("to"); got != want {
		t.Errorf("jobs are ready in the order%s: want%s", got, want)
	}
}

func TestQueue_Restore_Unknown(t *testing.T) {
	t.Parallel()
	rdb, prefix := redistest.Shared(t)
	c := newClient(t, rdb, prefix)
	dead, retry := plain("dead"), plain("retry")
	dead.State, dead.Attempt = waybill.StateDead, 3
	retry.State, retry.Attempt, retry.DueAt = waybill.StateRetry, 1, time.Now().Add(time.Hour)
	if _, err := c.Queue("mail").Restore(t.Context(), []waybill.JobInfo{dead, retry}); err != nil {
		t.Fatal(err)
	}
	for _, was := range []waybill.JobInfo{dead, retry} {
		is, err := c.Queue("mail").Get(t.Context(), was.ID)
		if err != nil || is.State != was.State || is.Attempt != was.Attempt || !is.StartedAt.IsZero() {
			t.Errorf("%+v, %v: nobody knows when its attempt began", is, err)
		}
		if is.State == waybill.StateDead && is.At.Sub(is.FinishedAt) > time.Minute {
			t.Errorf("dead since %s: its age would cut it", is.FinishedAt)
		}
	}
}

func TestJobInfo_UnmarshalJSON_NoPayload(t *testing.T) {
	t.Parallel()
	var j waybill.JobInfo
	if err := json.Unmarshal([]byte(`{"id":"a","kind":"k","state":"ready"}`), &j); err == nil {
		t.Errorf("read as payload %q", j.Payload)
	}
}
