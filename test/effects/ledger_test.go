package effects_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/test/effects"
)

// effect is a row of the table effect.
type effect struct {
	attempt int
	token   string
}

// ledger is what a cell has left in Redis and in the database, and what its workers said.
type ledger struct {
	plan
	deaths   []effects.Death
	odd      []string
	lost     int // replies
	stats    waybill.QueueStats
	findings []waybill.Finding
	jobs     map[string]waybill.JobInfo
	effects  map[string][]effect
	tokens   map[string][]string // of receipts
	rows     int                 // of all receipts
}

func (c *cell) ledger() ledger {
	c.t.Helper()
	ctx, q := c.t.Context(), c.client.Queue(queue)
	l := ledger{
		plan: c.plan, deaths: c.deaths, odd: c.odd,
		jobs: map[string]waybill.JobInfo{}, effects: map[string][]effect{}, tokens: map[string][]string{},
	}
	if c.proxy != nil {
		l.lost = c.proxy.Cuts()
	}
	var err error
	l.stats, err = q.Stats(ctx)
	must(c.t, err)
	must(c.t, q.Audit(ctx, false, func(f waybill.Finding) { l.findings = append(l.findings, f) }, nil))
	for i := range c.plan.jobs {
		id := jobID(i)
		l.jobs[id], err = q.Get(ctx, id)
		must(c.t, err)
		found, err := c.receipts.Find(ctx, queue, id)
		must(c.t, err)
		for _, r := range found {
			l.tokens[id] = append(l.tokens[id], r.Token)
		}
	}
	must(c.t, c.db.QueryRowContext(ctx, "SELECT count(*) FROM waybill_receipt").Scan(&l.rows))
	c.readEffects(l.effects)
	return l
}

func (c *cell) readEffects(into map[string][]effect) {
	c.t.Helper()
	rows, err := c.db.QueryContext(c.t.Context(), "SELECT job, attempt, token FROM effect")
	must(c.t, err)
	defer rows.Close()
	for rows.Next() {
		var job string
		var e effect
		must(c.t, rows.Scan(&job, &e.attempt, &e.token))
		into[job] = append(into[job], e)
	}
	must(c.t, rows.Err())
}

func (l ledger) effectRows() int {
	n := 0
	for _, e := range l.effects {
		n += len(e)
	}
	return n
}

// complaints are what is wrong, each with the job's ID; none = every effect is there once.
type complaints []string

func (c *complaints) add(format string, args ...any) { *c = append(*c, fmt.Sprintf(format, args...)) }

// with are those that begin with a word.
func (c complaints) with(word string) int {
	n := 0
	for _, text := range c {
		if strings.HasPrefix(text, word+":") {
			n++
		}
	}
	return n
}

// check judges the effects, the receipts and the queue's account.
func (l ledger) check() complaints {
	var c complaints
	for id, job := range l.jobs {
		mine := l.effects[id]
		switch {
		case len(mine) == 0:
			c.add("lost: %s has no effect", id)
		case len(mine) > 1:
			c.add("doubled: %s has %d effects", id, len(mine))
		}
		if len(l.tokens[id]) != len(mine) || len(mine) == 1 && l.tokens[id][0] != mine[0].token {
			c.add("receipts: %s has receipts of %q and effects %+v", id, l.tokens[id], mine)
		}
		if job.State != waybill.StateCompleted || job.Failures != 0 {
			c.add("jobs: %s is %s after %d failures: %+v", id, job.State, job.Failures, job.Errors)
		}
	}
	if n := l.effectRows(); n != l.plan.jobs || l.rows != l.plan.jobs {
		c.add("sums: %d effects, %d receipts, of %d jobs", n, l.rows, l.plan.jobs)
	}
	s, jobs := l.stats, int64(l.plan.jobs)
	if s.Accepted != jobs || s.Completed != jobs || s.Requeued+s.Died+s.Cancelled+s.Deleted+s.Live()+s.Orphans != 0 ||
		s.Deliveries != s.Completed+s.Failures+s.Crashes+s.Snoozes+s.Released {
		c.add("account: %+v", s)
	}
	if len(l.findings) > 0 {
		c.add("audit: %+v", l.findings)
	}
	for _, odd := range l.odd {
		c.add("workers: %s", odd)
	}
	return c
}

// checkKills judges whether each job's first attempt was killed at the step, with its work in flight.
func (l ledger) checkKills() complaints {
	var c complaints
	killed := map[string]bool{}
	upTo := effects.Steps()[:1+slices.Index(effects.Steps(), l.die)]
	for _, d := range l.deaths {
		if killed[d.Job] || d.Attempt != 1 || !slices.Equal(d.Steps, upTo) {
			c.add("deaths: %s in attempt %d after %q", d.Job, d.Attempt, d.Steps)
		}
		killed[d.Job] = true
	}
	for id, job := range l.jobs {
		if !killed[id] {
			c.add("kills: %s was not killed", id)
			continue
		}
		l.checkTraces(&c, job)
	}
	if want := l.plan.jobs; l.die == effects.Unanswered && l.lost < want {
		c.add("replies: %d were lost, of %d", l.lost, want)
	}
	return c
}

// checkTraces looks for what a kill at the step leaves behind: whose effect stands, and who was missed by the queue.
func (l ledger) checkTraces(c *complaints, job waybill.JobInfo) {
	committed := slices.Index(effects.Steps(), l.die) >= slices.Index(effects.Steps(), effects.Committed)
	for _, e := range l.effects[job.ID] {
		if (e.attempt == 1) != committed {
			c.add("traces: %s was killed %s, and the effect of attempt %d stands", job.ID, l.die, e.attempt)
		}
	}
	if l.die == effects.Unanswered {
		if job.Attempt != 1 || job.Crashes != 0 {
			c.add("traces: %s was settled, and has %d attempts, %d crashes", job.ID, job.Attempt, job.Crashes)
		}
		return
	}
	if job.Attempt < 2 || len(job.Errors) == 0 || job.Errors[0].Type != "crash" || job.Errors[0].Attempt != 1 {
		c.add("traces: %s was killed %s, and has %d attempts: %+v", job.ID, l.die, job.Attempt, job.Errors)
	}
}
