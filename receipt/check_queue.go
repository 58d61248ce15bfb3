package receipt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill"
)

func contains(words, word string) bool { return slices.Contains(strings.Fields(words), word) }

// now is the database's clock.
func (r *Receipts) now(ctx context.Context) (time.Time, error) {
	var ms int64
	err := r.db.QueryRowContext(ctx, r.sql["now"]).Scan(&ms)
	return time.UnixMilli(ms), err
}

// PurgedBefore gives the time before which receipts of a scope were purged; zero = never. Errors: ErrNoTable, else the
// database's.
func (r *Receipts) PurgedBefore(ctx context.Context, scope string) (time.Time, error) {
	var before int64
	found, err := sqlSession{q: r.db}.QueryOne(ctx, r.sql["mark"], []any{r.scope(scope)}, []any{&before})
	if err != nil || !found || before == 0 {
		return time.Time{}, r.missing(err)
	}
	return time.UnixMilli(before), nil
}

// checkedJobs is how many jobs of a queue CheckQueue looks at.
const checkedJobs = 1000

// clockWarn is how far clocks may be apart before it is told.
const clockWarn = time.Minute

// CheckQueue looks whether the receipts of a queue fit to its jobs: whether the clocks of Redis and the database agree, and
// whether what was purged, or would be by a Purge of that age (0 = DefaultPurgeAge), makes ErrHorizon refuse jobs that could
// still run. It looks at 1,000 jobs at most, and changes nothing. Errors: those of Redis, ErrNoTable, else the database's.
func (r *Receipts) CheckQueue(ctx context.Context, q *waybill.Queue, age time.Duration) ([]Finding, error) {
	if age == 0 {
		age = DefaultPurgeAge
	}
	stats, err := q.Stats(ctx)
	if err != nil {
		return nil, err
	}
	now, err := r.now(ctx)
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", stats.Queue, err)
	}
	purged, err := r.PurgedBefore(ctx, stats.Queue)
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", stats.Queue, err)
	}
	settings, err := q.Settings(ctx)
	if err != nil {
		return nil, err
	}
	jobs, err := r.checkJobs(ctx, q, purged, now.Add(-age))
	return append([]Finding{checkClocks(stats.Now, now), checkKept(*settings.DeadAge, age)}, jobs...), err
}

func checkClocks(redis, database time.Time) Finding {
	apart := redis.Sub(database).Abs()
	f := fine("clocks", "Redis's and the database's are %s apart", apart.Round(time.Millisecond))
	const do = "synchronize the clocks of both servers (NTP)"
	switch {
	case apart > horizonSlack:
		f.Level, f.Do = LevelBad, do+", and purge nothing before"
		f.What += fmt.Sprintf(", more than %s: a purge can let a job's effect happen twice", spell(horizonSlack))
	case apart > clockWarn:
		f.Level, f.Do = LevelWarn, do
		f.What += fmt.Sprintf("; at most %s is allowed", spell(horizonSlack))
	}
	return f
}

// spell is a time as people give it: in days where it is whole days.
func spell(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return d.String()
}

// checkKept compares how long dead jobs are kept with how long their receipts are.
func checkKept(dead, age time.Duration) Finding {
	if dead != waybill.Unlimited && dead <= age {
		return fine("retention", "dead jobs are kept for %s, receipts for %s", spell(dead), spell(age))
	}
	long := "for ever"
	if dead != waybill.Unlimited {
		long = "for " + spell(dead)
	}
	return Finding{
		"retention", LevelWarn, fmt.Sprintf("dead jobs are kept %s, receipts for %s: a job that is requeued later than that is refused", long, spell(age)),
		"purge with a greater --older-than, or let the queue keep dead jobs for less (queue set --dead-age)",
	}
}

// checkJobs looks at the jobs that may still run, the dead ones first.
func (r *Receipts) checkJobs(ctx context.Context, q *waybill.Queue, purged, next time.Time) ([]Finding, error) {
	looked, behind, would, oldest := 0, 0, 0, time.Time{}
	states := []waybill.State{
		waybill.StateDead, waybill.StateReady, waybill.StateRetry, waybill.StateParked, waybill.StateSpilled, waybill.StateScheduled,
	}
	for job, err := range q.Jobs(ctx, waybill.Filter{States: states}) {
		if err != nil && job.ID == "" {
			return nil, err
		}
		if looked++; oldest.IsZero() || job.BornAt.Before(oldest) && !job.BornAt.IsZero() {
			oldest = job.BornAt
		}
		switch {
		case job.BornAt.Before(purged):
			behind++
		case job.BornAt.Before(next):
			would++
		}
		if looked == checkedJobs {
			break
		}
	}
	f := fine("purged", "nothing so far")
	if !purged.IsZero() {
		f.What = "what was born before " + stamp(purged)
	}
	if behind > 0 {
		f.Level = LevelWarn
		f.What += fmt.Sprintf("; %d of %d jobs looked at are older: without a receipt they are refused", behind, looked)
		f.Do = "see by receipts show whether a job has its effect; if it has none: receipts force, then job requeue"
	}
	g := fine("next purge", "takes what was born before %s: no job that was looked at (%d)", stamp(next), looked)
	if would > 0 {
		g.Level = LevelWarn
		g.What = fmt.Sprintf("takes what was born before %s: %d of %d jobs looked at, the oldest born at %s, would be refused if they have no receipt",
			stamp(next), would, looked, stamp(oldest))
		g.Do = "purge with a greater --older-than, or requeue or delete those jobs first"
	}
	return []Finding{f, g}, nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
