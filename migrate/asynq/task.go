package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hibiken/asynq"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
)

const (
	maxPayload     = 8 << 20
	maxFailures    = 1_000_000        // more is Unlimited
	defaultTimeout = 30 * time.Minute // written by asynq where a task says neither timeout nor deadline
)

var states = map[asynq.TaskState]waybill.State{
	asynq.TaskStatePending: waybill.StateReady, asynq.TaskStateScheduled: waybill.StateScheduled,
	asynq.TaskStateRetry: waybill.StateRetry, asynq.TaskStateArchived: waybill.StateDead,
}

// transfer is the move of one queue, and its account.
type transfer struct {
	*mover
	name, into   string
	to           *waybill.Queue
	types        map[string]string // by kind: two types do not become one kind unasked
	moved, again int               // again: of moved, those that Waybill held before
	by           map[asynq.TaskState]int
	why          map[string]string // by ID, why a task stays
}

func newTransfer(m *mover, name string) *transfer {
	into := m.queues.name(name)
	return &transfer{
		mover: m, name: name, into: into, to: m.client.Queue(into),
		types: map[string]string{}, by: map[asynq.TaskState]int{}, why: map[string]string{},
	}
}

// job is a task as Waybill takes it. Its error says why Waybill can't.
func (t *transfer) job(task *asynq.TaskInfo) (waybill.JobInfo, error) {
	kind, now := t.kinds.name(task.Type), time.Now()
	if other, ok := t.types[kind]; ok && other != task.Type && t.kinds[task.Type] == "" {
		return waybill.JobInfo{}, fmt.Errorf("type %q would be kind %s, as %q is: give --kind", task.Type, kind, other)
	}
	t.types[kind] = task.Type
	j := waybill.JobInfo{
		ID: task.ID, Queue: t.into, Kind: kind, Known: true, State: states[task.State], Payload: task.Payload,
		Headers: headers(task), Retention: task.Retention, Failures: task.Retried, EnqueuedAt: now, DueAt: task.NextProcessAt,
		MaxFailures: task.MaxRetry + 1, // retried n times means: archived by failure n+1
	}
	if j.MaxFailures > maxFailures {
		j.MaxFailures = waybill.Unlimited
	}
	if j.State == waybill.StateDead {
		if j.FinishedAt = task.LastFailedAt; j.FinishedAt.IsZero() {
			j.FinishedAt = now // archived by hand
		} else if task.Retried >= task.MaxRetry {
			j.Failures++ // asynq does not count the failure that archives
		}
	}
	if j.Attempt = j.Failures; task.LastErr != "" {
		j.Errors = []waybill.JobError{{Attempt: j.Attempt, At: task.LastFailedAt, Type: "failure", Message: task.LastErr}}
	}
	if err := record.CheckSize(j.Payload, maxPayload); err != nil {
		return j, err
	}
	return j, record.Job{Kind: kind, Retention: j.Retention, MaxFailures: j.MaxFailures, Headers: j.Headers}.Check(j.ID, 0)
}

// headers are the task's, and what a job has no other place for: its own timeout and deadline.
func headers(task *asynq.TaskInfo) map[string]string {
	h := map[string]string{}
	maps.Copy(h, task.Headers)
	if task.Timeout != 0 && task.Timeout != defaultTimeout {
		h["asynq-timeout"] = task.Timeout.String()
	}
	if !task.Deadline.IsZero() {
		h["asynq-deadline"] = task.Deadline.UTC().Format(time.RFC3339)
	}
	return h
}

// leave notes why a task stays. A message that names its task is the same for another one.
func (t *transfer) leave(task *asynq.TaskInfo, why error) {
	t.why[task.ID] = strings.ReplaceAll(why.Error(), task.ID, "…")
}

func (t *transfer) took(task *asynq.TaskInfo, o waybill.Outcome) {
	t.moved++
	t.by[task.State]++
	if o == waybill.OutcomeDuplicate {
		t.again++
	}
}

// tell prints the account, and whether something is left that a further run may move.
func (t *transfer) tell() (left bool, err error) {
	info, err := t.inspector.GetQueueInfo(t.name)
	if err != nil {
		return false, fmt.Errorf("queue %s of asynq: %w", t.name, err)
	}
	verb, state := "moved", "paused in asynq, and stays so"
	if t.dryRun {
		verb, state = "to move", "nothing is changed"
	}
	fmt.Fprintf(t.out, "queue %s to %s: %s\n", t.name, t.into, state)
	fmt.Fprintf(t.out, "  %-9s %d: %d pending, %d scheduled, %d retry, %d archived; %d were there before\n", verb, t.moved,
		t.by[asynq.TaskStatePending], t.by[asynq.TaskStateScheduled], t.by[asynq.TaskStateRetry], t.by[asynq.TaskStateArchived], t.again)
	for _, kind := range slices.Sorted(maps.Keys(t.types)) {
		if t.types[kind] != kind {
			fmt.Fprintf(t.out, "  renamed   type %s is kind %s\n", t.types[kind], kind)
		}
	}
	number, such := map[string]int{}, map[string]string{}
	for id, why := range t.why {
		number[why]++
		such[why] = max(such[why], id)
	}
	for _, why := range slices.Sorted(maps.Keys(number)) {
		fmt.Fprintf(t.out, "  left      %d, such as %q: %s\n", number[why], such[why], why)
	}
	fmt.Fprintf(t.out, "  in asynq  %d active, %d pending, %d scheduled, %d retry, %d in groups, %d archived, %d completed\n",
		info.Active, info.Pending, info.Scheduled, info.Retry, info.Aggregating, info.Archived, info.Completed)
	return len(t.why) > 0 || info.Size > info.Archived, nil
}
