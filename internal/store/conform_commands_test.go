package store_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/model"
)

// found is the answer of a get.
type found struct {
	info store.Info
	err  error
}

// Equal compares as go-cmp asks for it.
func (f found) Equal(g found) bool {
	return fmt.Sprintf("%+v", flat(f)) == fmt.Sprintf("%+v", flat(g)) && (f.err == nil) == (g.err == nil)
}

func flat(f found) any {
	rec := f.info.Record
	var told store.Progress
	if p := f.info.Progress; p != nil {
		told = *p
	}
	f.info.Record, f.info.Progress = nil, nil
	if rec == nil {
		return f.info
	}
	return []any{f.info, *rec, told}
}

func enqueueCommand(adds []store.Add, spill bool) command {
	words := []string{"enqueue"}
	if spill {
		words = append(words, "(spill)")
	}
	for _, a := range adds {
		words = append(words, addText(a))
	}
	c := command{text: strings.Join(words, " "), changes: true, adds: adds}
	refuse := false
	c.send = func(m *machine) (any, error) {
		refuse = m.full
		got := m.q.Enqueue(m.ctx, adds, spill)
		for i := range got {
			if got[i].Capacity < 0 {
				got[i].Depth = 0 // counted only where there is a capacity
			}
		}
		return got, nil
	}
	c.expect = func(q *model.Queue) any {
		if refuse {
			return refused(len(adds))
		}
		return q.Enqueue(adds, spill)
	}
	return c
}

func addText(a store.Add) string {
	j := a.Job
	s := fmt.Sprintf("%s(%s/%q", a.ID, j.Kind, j.Payload)
	if a.Priority != 0 {
		s += fmt.Sprintf(" p%d", a.Priority)
	}
	if a.LIFO {
		s += " lifo"
	}
	if !j.At.IsZero() {
		s += fmt.Sprintf(" at %+d", j.At.UnixMilli()-epoch)
	}
	s += spans(j.Delay, j.Retention)
	if j.Outbox != 0 {
		s += " outbox " + string(j.Outbox)
	}
	if b := a.Back; b != nil {
		s += fmt.Sprintf(" back %s %+d %d %d %d %d", b.State, b.At.UnixMilli()-epoch, b.Attempt, b.Failures, b.Crashes, b.Snoozes)
	}
	return s + ")"
}

func spans(delay, retention time.Duration) (s string) {
	if delay != 0 {
		s += fmt.Sprintf(" delay %v", delay)
	}
	if retention != 0 {
		s += fmt.Sprintf(" keep %v", retention)
	}
	return s
}

func claimCommand(cl store.Claim) command {
	c := command{changes: true, text: fmt.Sprintf("claim %s #%d n=%d lease %v", cl.Worker, cl.Number, cl.Most, cl.Lease)}
	if cl.Suspect {
		c.text += " suspect"
	}
	if cl.Bytes > 0 {
		c.text += fmt.Sprintf(" bytes %d", cl.Bytes)
	}
	if len(cl.Kinds) > 0 {
		c.text += fmt.Sprintf(" kinds %v", cl.Kinds)
	}
	if len(cl.Room) > 0 {
		c.text += fmt.Sprintf(" room %v", cl.Room)
	}
	c.send = func(m *machine) (any, error) {
		got, err := m.q.Claim(m.ctx, cl)
		if err == nil {
			m.readClock()
			m.delivered(cl, got)
		}
		return got, err
	}
	c.expect = func(q *model.Queue) any { return q.Claim(cl) }
	return c
}

func settleCommand(items []store.Settlement) command {
	words := []string{"settle"}
	for _, it := range items {
		words = append(words, fmt.Sprintf("%s:%s%s%s;", it.Member, it.End, spans(it.Delay, it.Retention), effectsText(it.Effects)))
	}
	c := command{text: strings.Join(words, " "), changes: true}
	c.send = func(m *machine) (any, error) {
		got, err := m.q.Settle(m.ctx, items)
		m.settledBy(items, got)
		return got, err
	}
	c.expect = func(q *model.Queue) any { return q.Settle(items) }
	return c
}

func effectsText(e store.Effects) string {
	if e == (store.Effects{}) {
		return ""
	}
	return fmt.Sprintf(" effects %d %d %d", e.Applied, e.Suppressed, e.Mismatches)
}

func renewCommand(lease time.Duration, members []string) command {
	return command{
		text: fmt.Sprintf("renew %v %v", lease, members), changes: true,
		send:   func(m *machine) (any, error) { return m.q.Renew(m.ctx, lease, members) },
		expect: func(q *model.Queue) any { return q.Renew(lease, members) },
	}
}

func progressCommand(member string, percent int, note string) command {
	return command{
		text: fmt.Sprintf("progress %s %d %q", member, percent, note), changes: true,
		send:   func(m *machine) (any, error) { return m.q.Progress(m.ctx, member, percent, note) },
		expect: func(q *model.Queue) any { return q.Progress(member, percent, note) },
	}
}

func endsCommand(ids []string) command {
	return command{
		text:   fmt.Sprintf("ends %v", ids),
		send:   func(m *machine) (any, error) { return m.q.Ends(m.ctx, ids) },
		expect: func(q *model.Queue) any { return q.Ends(ids) },
	}
}

func cancelCommand(reason string, ids []string) command {
	return command{
		text: fmt.Sprintf("cancel %v", ids), changes: true,
		send:   func(m *machine) (any, error) { return m.q.Cancel(m.ctx, reason, ids...) },
		expect: func(q *model.Queue) any { return q.Cancel(reason, ids...) },
	}
}

func deleteCommand(o store.DeleteOptions, ids []string) command {
	c := command{text: fmt.Sprintf("delete %v %+v", ids, o), changes: true}
	c.send = func(m *machine) (any, error) {
		active := m.last["leases"].Scores
		got, err := m.q.Delete(m.ctx, o, ids...)
		for i, word := range got {
			for member := range active {
				_, el, _ := strings.Cut(member, " ")
				if el[16:] == ids[i] && word == store.Deleted {
					m.ends.forced++
				}
			}
		}
		return got, err
	}
	c.expect = func(q *model.Queue) any { return q.Delete(o, ids...) }
	return c
}

func requeueCommand(ids []string) command {
	return command{
		text: fmt.Sprintf("requeue %v", ids), changes: true,
		send:   func(m *machine) (any, error) { return m.q.Requeue(m.ctx, ids...) },
		expect: func(q *model.Queue) any { return q.Requeue(ids...) },
	}
}

func promoteCommand(ids []string) command {
	return command{
		text: fmt.Sprintf("promote %v", ids), changes: true,
		send:   func(m *machine) (any, error) { return m.q.Promote(m.ctx, ids...) },
		expect: func(q *model.Queue) any { return q.Promote(ids...) },
	}
}

func purgeCommand(state store.State, most int) command {
	return command{
		text: fmt.Sprintf("purge %s %d", state, most), changes: true,
		send:   func(m *machine) (any, error) { return m.q.Purge(m.ctx, state, most) },
		expect: func(q *model.Queue) any { return q.Purge(state, most) },
	}
}

func configureCommand(text string, s store.Settings) command {
	return command{
		text: "configure " + text, changes: true,
		send:   func(m *machine) (any, error) { return nil, m.q.Configure(m.ctx, s) },
		expect: func(q *model.Queue) any { q.Configure(s); return nil },
	}
}

// rawCommand sets a field of the settings that Configure keeps within bounds.
func rawCommand(field, value string) command {
	return command{
		text: "set " + field + " " + value,
		send: func(m *machine) (any, error) {
			if full := m.full; full {
				m.setFull(false)
				defer m.setFull(true)
			}
			return nil, m.v.rdb.HSet(m.ctx, m.q.Tag()+"meta", field, value).Err()
		},
		expect: func(q *model.Queue) any { q.SetRaw(field, value); return nil },
	}
}

func pauseCommand() command {
	return command{
		text: "pause", changes: true,
		send:   func(m *machine) (any, error) { return nil, m.q.Pause(m.ctx, "ann") },
		expect: func(q *model.Queue) any { q.Pause("ann"); return nil },
	}
}

func resumeCommand() command {
	return command{
		text: "resume", changes: true,
		send:   func(m *machine) (any, error) { return nil, m.q.Resume(m.ctx) },
		expect: func(q *model.Queue) any { q.Resume(); return nil },
	}
}

func ringCommand() command {
	return command{
		text: "ring", changes: true,
		send:   func(m *machine) (any, error) { return nil, m.q.Ring(m.ctx) },
		expect: func(q *model.Queue) any { q.Ring(); return nil },
	}
}

// listenCommand waits for the bell, at most d.
func listenCommand(d time.Duration) command {
	return command{
		text: fmt.Sprintf("listen %v", d),
		send: func(m *machine) (any, error) {
			name, err := m.s.Listen(m.ctx, []string{"other", m.q.Name()}, d)
			return name == m.q.Name(), err
		},
		expect: func(q *model.Queue) any { return q.Listen() },
	}
}

func getCommand(id string) command {
	return command{
		text: "get " + id,
		send: func(m *machine) (any, error) {
			info, err := m.q.Get(m.ctx, id)
			return found{info, err}, nil
		},
		expect: func(q *model.Queue) any {
			info, ok := q.Get(id)
			if !ok {
				return found{info, store.ErrNotFound}
			}
			return found{info, nil}
		},
	}
}

// listCommand walks all jobs of a state in pages, and compares their order.
func listCommand(state store.State, most int) command {
	return command{
		text: fmt.Sprintf("list %s by %d", state, most),
		send: func(m *machine) (any, error) {
			out := []store.Entry{}
			for cursor := ""; ; {
				page, err := m.q.List(m.ctx, state, cursor, most, false)
				if err != nil {
					return nil, err
				}
				for _, e := range page.Entries {
					e.Info.Now = time.Time{}
					if e.Err != nil {
						e.Info = store.Info{} // of no meaning then
					}
					out = append(out, e)
				}
				if cursor = page.Next; cursor == "" {
					return out, nil
				}
			}
		},
		expect: func(q *model.Queue) any { return q.List(state) },
	}
}

// timeCommand moves the clock of tests.
func timeCommand(text string, to int64) command {
	return command{
		text:   "clock " + text,
		send:   func(m *machine) (any, error) { m.moveClock(to); return nil, nil },
		expect: func(*model.Queue) any { return nil },
	}
}

// expireCommand lets the TTLs of ended jobs fire, as Redis does by its own clock.
func expireCommand() command {
	var ids []string
	return command{
		text: "expire",
		send: func(m *machine) (any, error) {
			ids = m.m.Expire()
			for _, id := range ids {
				m.must(m.v.rdb.Unlink(m.ctx, m.q.Tag()+"job:"+id, m.q.Tag()+"result:"+id).Err())
			}
			return ids, nil
		},
		expect: func(*model.Queue) any { return ids },
	}
}

// relayCommand is what an outbox's relay does when it has read how its jobs ended.
func relayCommand(outbox byte) command {
	return command{
		text: "relay " + string(outbox),
		send: func(m *machine) (any, error) {
			return nil, m.v.rdb.Unlink(m.ctx, m.q.Tag()+"told:"+string(outbox)).Err()
		},
		expect: func(q *model.Queue) any { q.Relayed(outbox); return nil },
	}
}

func flushCommand() command {
	return command{
		text:   "flush scripts",
		send:   func(m *machine) (any, error) { return nil, m.v.rdb.ScriptFlush(m.ctx).Err() },
		expect: func(*model.Queue) any { return nil },
	}
}

func fullCommand(full bool) command {
	return command{
		text:   fmt.Sprintf("memory full: %v", full),
		send:   func(m *machine) (any, error) { m.setFull(full); return nil, nil },
		expect: func(*model.Queue) any { return nil },
	}
}
