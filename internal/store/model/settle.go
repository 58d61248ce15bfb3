package model

import (
	"fmt"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// holder finds the active job whose lease a member stands for; nil: there is none.
func (q *Queue) holder(member string) *job {
	_, id := split(member)
	if j := q.jobs[id]; j != nil && j.at == leases && q.member(j) == member {
		return j
	}
	return nil
}

// split cuts a lease member into token and job ID.
func split(member string) (token, id string) {
	token, el, _ := strings.Cut(member, " ")
	return token, el[16:]
}

// Renew is store.Queue.Renew.
func (q *Queue) Renew(lease time.Duration, members []string) []store.Verdict {
	out := make([]store.Verdict, len(members))
	for i, m := range members {
		j := q.holder(m)
		if j == nil {
			out[i] = store.Lost
			continue
		}
		j.score = q.Now + lease.Milliseconds()
		out[i] = store.Held
		if _, asked := q.cancels[j.add.ID]; asked {
			out[i] = store.CancelledNow
		}
	}
	return out
}

// Progress is store.Queue.Progress.
func (q *Queue) Progress(member string, percent int, note string) store.Verdict {
	j := q.holder(member)
	if j == nil {
		return store.Lost
	}
	q.progress[j.add.ID] = store.Progress{Percent: percent, Note: note, At: time.UnixMilli(q.Now)}
	if _, asked := q.cancels[j.add.ID]; asked {
		return store.CancelledNow
	}
	return store.Held
}

// Settle is store.Queue.Settle.
func (q *Queue) Settle(items []store.Settlement) []store.Verdict {
	out := make([]store.Verdict, len(items))
	seen, others := map[string]bool{}, int64(0)
	for i, it := range items { // all are judged by what was before, and acks come first
		switch {
		case seen[it.Member]:
			out[i] = store.Already
		case q.holder(it.Member) == nil:
			out[i] = q.refuse(it.Member)
		default:
			seen[it.Member], out[i] = true, store.Done
		}
	}
	for _, acks := range []bool{true, false} {
		for i, it := range items {
			if j := q.holder(it.Member); out[i] == store.Done && j != nil && acks == (it.End == store.Ack) {
				out[i] = q.end(j, it)
				q.countEffects(it.Effects)
				if !acks {
					others++
				}
			}
		}
	}
	if others > 0 {
		q.cut(max(phase, others))
	}
	q.bell = q.bell || q.spilled() > 0
	return out
}

// refuse says why an attempt that holds no lease gets nothing.
func (q *Queue) refuse(member string) store.Verdict {
	token, id := split(member)
	entries, r := q.remembered(id), q.runOf(id)
	for _, e := range entries {
		if e.token == token {
			return store.Already
		}
	}
	if r.token == token && r.outcome != "active" {
		return store.Already
	}
	if len(entries) > 0 || r.attempts > 0 || q.jobs[id] != nil {
		q.count("stale", 1)
		return store.Stale
	}
	return store.Gone
}

// countEffects adds what an attempt whose end is recorded told of its effects. Nobody else's is counted.
func (q *Queue) countEffects(e store.Effects) {
	q.count("effects", int64(e.Applied))
	q.count("suppressed", int64(e.Suppressed))
	q.count("mismatches", int64(e.Mismatches))
}

// end ends an attempt that holds its lease. Where a cancel was asked for the job does not go back.
func (q *Queue) end(j *job, it store.Settlement) store.Verdict {
	r, id := q.runs[j.add.ID], j.add.ID
	ttl := it.Retention.Milliseconds()
	goesBack := it.End == store.Retry || it.End == store.Snooze || it.End == store.Release
	if _, asked := q.cancels[id]; asked && goesBack {
		q.finish(j, "cancelled", r, max(j.retention(), hour))
		return store.CancelledNow
	}
	switch it.End {
	case store.Ack:
		q.finish(j, "completed", r, 0)
	case store.Complete:
		if v := stored(it); v != "" && ttl > 0 {
			q.results[id] = v
		}
		q.finish(j, "completed", r, ttl)
	case store.Cancel:
		q.ask(id, it.Line)
		q.finish(j, "cancelled", r, max(ttl, hour))
	case store.Dead:
		q.failed(id, r, it.Line)
		q.bury(j, r)
	case store.Retry:
		q.failed(id, r, it.Line)
		q.back(j, r, it)
	case store.Snooze:
		r.snoozes++
		q.count("snoozes", 1)
		q.back(j, r, it)
	case store.Release:
		q.count("released", 1)
		q.back(j, r, it)
	}
	return store.Done
}

func (q *Queue) failed(id string, r *run, line string) {
	r.failures++
	q.count("failures", 1)
	q.fault(id, line)
}

// back lets a job go back to wait.
func (q *Queue) back(j *job, r *run, it store.Settlement) {
	q.saveRun(j.add.ID, r, string(it.End))
	switch {
	case it.End == store.Release && r.crashes > 1:
		q.wait(j, suspects, 0)
		q.ring()
	case it.End == store.Release:
		q.put(j, true)
		q.ring()
	default:
		at := due
		if it.End == store.Retry {
			at = retry
		}
		first, waiting := q.soonest(at)
		q.wait(j, at, q.Now+it.Delay.Milliseconds())
		q.bell = q.bell || !waiting || j.score < first
	}
}

// ask notes a wish to cancel; the first one stays.
func (q *Queue) ask(id, reason string) {
	if _, asked := q.cancels[id]; !asked {
		q.cancels[id] = fmt.Sprintf("%d %s", q.Now, reason)
	}
}

// stored is a result as it stands in Redis; "" = none.
func stored(it store.Settlement) string {
	switch {
	case it.Dropped:
		return "!"
	case it.Result != nil:
		return "=" + string(it.Result)
	}
	return ""
}
