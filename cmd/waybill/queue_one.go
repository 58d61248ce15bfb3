package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/waybillhq/waybill"
)

// oneQueue are the lines in which people read one queue: now, then the account; server is the Redis that holds it.
func oneQueue(s standing, server string) [][]cell {
	rows := [][]cell{{{"queue", bold}, {text: s.Queue}}}
	add := func(name, text string) { rows = append(rows, []cell{{name, bold}, {text: text}}) }
	if s.PausedBy != "" {
		add("paused", "by "+visible(s.PausedBy, ""))
	}
	if s.subscribed {
		of, _, _ := strings.Cut(s.Queue, "/")
		add("events", s.events()+"; see topic stats "+of)
	}
	add("now", fmt.Sprintf("%d ready, %d active, %d scheduled, %d retry, %d parked, %d spilled", s.Ready, s.Active,
		s.Scheduled, s.Retry, s.Parked, s.Spilled))
	add("ended", fmt.Sprintf("%d dead now, %d others kept with their results", s.Dead, s.Kept))
	add("workers", fmt.Sprint(s.Workers))
	if s.Capacity != waybill.Unlimited {
		add("capacity", fmt.Sprintf("%s, at most %d so far", count(s.Capacity, "live job"), s.High))
	}
	if s.OldestReady >= 0 {
		add("oldest ready", span(s.OldestReady))
	}
	add("repeats", repeats(s.QueueStats))
	add("account", fmt.Sprintf("%d accepted + %d requeued = %d completed + %d died + %d cancelled + %d deleted + %d live",
		s.Accepted, s.Requeued, s.Completed, s.Died, s.Cancelled, s.Deleted, s.Live()))
	add("deliveries", fmt.Sprintf("%d: %d completed, %s, %s, %s, %d released, %d active; %s refused", s.Deliveries, s.Completed,
		count(s.Failures, "failure"), crashes(s.Crashes), count(s.Snoozes, "snooze"), s.Released, s.Active, count(s.Stale, "stale end")))
	if s.Effects+s.Suppressed+s.Mismatches > 0 {
		add("effects", fmt.Sprintf("%d applied, %s suppressed, %s", s.Effects, count(s.Suppressed, "duplicate"), mismatches(s.Mismatches)))
	}
	add("not added", fmt.Sprintf("%s, %s, %d rejected", count(s.Duplicates, "duplicate"), count(s.Conflicts, "conflict"), s.Rejected))
	if s.DeadCut > 0 {
		add("dead cut", fmt.Sprintf("%d beyond count or age", s.DeadCut))
	}
	if server != "" {
		add("held by", oneLine(server))
	}
	return rows
}

// repeats tells of which ended jobs a repeated enqueue is known. Where both horizons are one, and
// younger than the shortest window, nothing was forgotten yet.
func repeats(s waybill.QueueStats) string {
	if s.HorizonNamed == s.HorizonGenerated && s.HorizonNamed < time.Minute {
		return "all since the queue began (" + span(s.HorizonNamed) + " ago)"
	}
	return fmt.Sprintf("duplicates are known of jobs that ended up to %s ago, with generated IDs %s", span(s.HorizonNamed),
		span(s.HorizonGenerated))
}

// mismatches says how many, in words.
func mismatches(n int64) string {
	if n == 1 {
		return "1 mismatch"
	}
	return fmt.Sprintf("%d mismatches", n)
}
