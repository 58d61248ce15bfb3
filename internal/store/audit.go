package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/record"
)

// Finding is one thing an audit found odd. What each word means stands on top of lua/audit.lua.
type Finding struct {
	What   string // unindexed, left, orphan run, orphan element, unrecorded lease, ghosts M N, newer
	Item   string // job ID, element or lease member
	Mended bool
}

// Audit is a walk over all of a queue that finds what no script would leave behind: records in no
// index, index entries without record, leases without run entry, run entries of jobs that are gone.
// It goes in bounded steps, each rechecked in one script; it may be left and taken up between steps.
// Jobs that move meanwhile are no finding. It is for one goroutine.
type Audit struct {
	q     *Queue
	mend  bool
	start time.Time // by the server's clock; younger records are left alone
	seen  map[string]struct{}
	steps []func(context.Context) (bool, error) // what is left to do; true: that step is done
	found []Finding
	// Looked counts index entries, run entries and records looked at.
	Looked int64
}

// Audit begins a walk. With mend what is found is also mended; nothing is dropped that was not told.
func (q *Queue) Audit(mend bool) *Audit {
	a := &Audit{q: q, mend: mend, seen: map[string]struct{}{}}
	a.steps = append(a.steps, a.begin)
	for _, name := range []string{"leases", "urgent", "suspects", "parked", "due", "retry", "overflow", "dead", "done"} {
		a.steps = append(a.steps, a.indexStep(name))
	}
	a.steps = append(a.steps, a.readyStep())
	for _, key := range []string{"runs", "faults", "cancels", "progress"} {
		a.steps = append(a.steps, a.hashStep(key))
	}
	a.steps = append(a.steps, a.recordStep(), a.ghosts)
	return a
}

// Step does a bounded part of the walk and gives what it found. After an error the same step is
// done again by the next call.
func (a *Audit) Step(ctx context.Context) (found []Finding, done bool, err error) {
	if len(a.steps) == 0 {
		return nil, true, nil
	}
	over, err := a.steps[0](ctx)
	if over && err == nil {
		a.steps = a.steps[1:]
	}
	found, a.found = a.found, nil
	if err != nil {
		err = fmt.Errorf("audit %q: %w", a.q.name, err)
	}
	return found, len(a.steps) == 0, err
}

// Run does all steps.
func (a *Audit) Run(ctx context.Context) ([]Finding, error) {
	var all []Finding
	for {
		found, done, err := a.Step(ctx)
		all = append(all, found...)
		if err != nil || done {
			return all, err
		}
	}
}

func (a *Audit) begin(ctx context.Context) (bool, error) {
	s, err := a.q.Stats(ctx)
	a.start = s.Now
	return true, err
}

func (a *Audit) indexStep(name string) func(context.Context) (bool, error) {
	position := ""
	return func(ctx context.Context) (bool, error) {
		entries, next, err := a.read(ctx, name, position)
		if err != nil {
			return false, err
		}
		if err := a.examine(ctx, name, entries); err != nil {
			return false, err
		}
		position = next
		return next == "", nil
	}
}

// readyStep only takes note of what stands in the list: whether it is missing there is asked for one by one.
func (a *Audit) readyStep() func(context.Context) (bool, error) {
	position := ""
	return func(ctx context.Context) (bool, error) {
		_, next, err := a.read(ctx, "ready", position)
		position = next
		return err == nil && next == "", err
	}
}

// read reads a page of an index and remembers its jobs as seen.
func (a *Audit) read(ctx context.Context, name, position string) (members []any, next string, err error) {
	reply, _, err := a.q.call(ctx, "list", name, position, 100, ClaimBytes, "ids")
	if err != nil || len(reply) < 2 {
		return nil, "", err
	}
	for i := 2; i < len(reply); i += 4 {
		el := text(reply[i])
		members = append(members, el)
		if name == "leases" {
			_, el, _ = strings.Cut(el, " ")
		}
		if _, id, err := record.SplitElement(el); err == nil {
			a.seen[id] = struct{}{}
		}
	}
	a.Looked += int64(len(members))
	return members, text(reply[1]), nil
}

func (a *Audit) hashStep(key string) func(context.Context) (bool, error) {
	cursor := uint64(0)
	return func(ctx context.Context) (bool, error) {
		from := cursor // a call that is given up may still read it
		got, err := command(ctx, a.q.store.rdb, func() (scanned, error) {
			return walked(a.q.store.rdb.HScan(ctx, a.q.tag+key, from, "*", 100))
		})
		if err != nil {
			return false, readError("hscan", a.q.name, err)
		}
		ids := make([]any, 0, len(got.words)/2)
		for i := 0; i < len(got.words); i += 2 {
			ids = append(ids, got.words[i])
		}
		a.Looked += int64(len(ids))
		if err := a.examine(ctx, "runs", ids); err != nil {
			return false, err
		}
		cursor = got.next
		return cursor == 0, nil
	}
}

// recordStep walks the records themselves, on the node that holds the queue.
func (a *Audit) recordStep() func(context.Context) (bool, error) {
	cursor, prefix := uint64(0), a.q.tag+"job:"
	return func(ctx context.Context) (bool, error) {
		node, err := a.node(ctx)
		if err != nil {
			return false, readError("scan", a.q.name, err)
		}
		from := cursor // a call that is given up may still read it
		got, err := command(ctx, a.q.store.rdb, func() (scanned, error) {
			return walked(node.Scan(ctx, from, prefix+"*", 1000))
		})
		if err != nil {
			return false, readError("scan", a.q.name, err)
		}
		var odd []any
		for _, k := range got.words {
			id := strings.TrimPrefix(k, prefix)
			if _, ok := a.seen[id]; !ok && a.older(ctx, k) {
				odd = append(odd, id)
			}
		}
		a.Looked += int64(len(got.words))
		if err := a.examine(ctx, "jobs", odd); err != nil {
			return false, err
		}
		cursor = got.next
		return cursor == 0, nil
	}
}

// scanned is one page of a walk over keys or fields; next is 0 at the end.
type scanned struct {
	words []string
	next  uint64
}

func walked(cmd *redis.ScanCmd) (scanned, error) {
	words, next, err := cmd.Result()
	return scanned{words, next}, err
}

// older tells whether a record was there when the walk began.
func (a *Audit) older(ctx context.Context, key string) bool {
	raw, err := a.q.store.rdb.GetRange(ctx, key, 0, 26).Result()
	if err != nil || len(raw) < 27 || raw[0] != record.Format {
		return err == nil && raw != ""
	}
	at, err := record.ParseTime(raw[16:27])
	return err != nil || at.Before(a.start)
}

func (a *Audit) ghosts(ctx context.Context) (bool, error) {
	return true, a.examine(ctx, "ghosts", []any{})
}

// examine looks again at items in one script; one at a time where each may cost a search of the list.
func (a *Audit) examine(ctx context.Context, what string, items []any) error {
	mode, most := "look", 100
	if a.mend {
		mode = "mend"
	}
	if what == "jobs" {
		most = 1
	}
	for {
		n := min(len(items), most)
		if n == 0 && what != "ghosts" {
			return nil
		}
		reply, _, err := a.q.call(ctx, "audit", append([]any{mode, what}, items[:n]...)...)
		if err != nil {
			return err
		}
		a.note(reply, items[:n])
		if items = items[n:]; len(items) == 0 {
			return nil
		}
	}
}

func (a *Audit) note(reply, items []any) {
	for i := 1; i < len(reply); i++ {
		word := text(reply[i])
		if word == "" {
			continue
		}
		f := Finding{What: word, Mended: a.mend && word != "newer"}
		if i <= len(items) {
			f.Item = text(items[i-1])
		}
		a.found = append(a.found, f)
	}
}

type scanner interface {
	Scan(ctx context.Context, cursor uint64, match string, count int64) *redis.ScanCmd
}

func (a *Audit) node(ctx context.Context) (scanner, error) {
	if c, ok := a.q.store.rdb.(*redis.ClusterClient); ok {
		return c.MasterForKey(ctx, a.q.bell())
	}
	return a.q.store.rdb, nil
}
