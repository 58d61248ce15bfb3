package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill"
)

// variable is one of the environment.
type variable struct{ name, value string }

// environment is what a command gets: ours, less what names Redis (it may hold a password) or
// another job, and what tells of its job.
func environment(ours []string, a *waybill.Attempt, deadline time.Time) []string {
	env := jobless(ours)
	for _, v := range facts(a, deadline) {
		env = set(env, v)
	}
	return env
}

// jobless is what a process gets that does many jobs: nothing of any, so that none takes one job's idempotency key for
// another's.
func jobless(ours []string) []string {
	env := set(slices.Clone(ours), variable{envURL, ""})
	for _, v := range facts(&waybill.Attempt{}, time.Time{}) {
		env = set(env, variable{v.name, ""})
	}
	return env
}

// facts are what a command is told of its job.
func facts(a *waybill.Attempt, deadline time.Time) []variable {
	most := strconv.Itoa(a.MaxFailures)
	if a.MaxFailures < 0 {
		most = unlimited
	}
	until := ""
	if !deadline.IsZero() {
		until = deadline.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	}
	return []variable{
		{"WAYBILL_JOB_ID", a.ID},
		{"WAYBILL_QUEUE", a.Queue},
		{"WAYBILL_KIND", a.Kind},
		{"WAYBILL_ATTEMPT", strconv.Itoa(a.Number)},
		{"WAYBILL_TOKEN", a.Token},
		{"WAYBILL_IDEMPOTENCY_KEY", a.IdempotencyKey()},
		{"WAYBILL_EVENT", a.Event},
		{"WAYBILL_REPLAY", a.Replay},
		{"WAYBILL_FAILURES", strconv.Itoa(a.Failures)},
		{"WAYBILL_MAX_FAILURES", most},
		{"WAYBILL_DEADLINE", until},
		{"TRACEPARENT", a.Headers["traceparent"]},
		{"TRACESTATE", a.Headers["tracestate"]},
	}
}

// set sets a variable; "" takes it out.
func set(env []string, v variable) []string {
	env = slices.DeleteFunc(env, func(line string) bool { return strings.HasPrefix(line, v.name+"=") })
	if v.value != "" && !strings.Contains(v.value, "\x00") {
		env = append(env, v.name+"="+v.value)
	}
	return env
}
