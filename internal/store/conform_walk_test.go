package store_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/model"
)

// walk is a list read page by page while other commands come between.
type walk struct {
	state  store.State
	cursor string
	pages  int
	stays  map[string]int64 // index and element, with its score, of what stood there from the first page on
	seen   map[string]int   // how often a page showed a job
}

// indexesOf are the indexes of each state that can be listed.
var indexesOf = map[store.State][]string{
	store.Ready: {"ready", "urgent", "suspects"}, store.Scheduled: {"due"}, store.RetryState: {"retry"}, store.Parked: {"parked"},
	store.SpilledState: {"overflow"}, store.ActiveState: {"leases"}, store.DeadState: {"dead"}, store.EndedState: {"done"},
}

// members are what stands in the indexes of a state; of the line what is no ghost.
func (d dump) members(state store.State) map[string]int64 {
	out := map[string]int64{}
	for _, key := range indexesOf[state] {
		for _, el := range d[key].List {
			if raw := d["job:"+el[16:]].Text; raw != "" && raw[1:16] == el[:15] {
				out[key+" "+el] = 0
			}
		}
		for el, score := range d[key].Scores {
			out[key+" "+el] = score
		}
	}
	return out
}

// drawPage goes on with the walk, or begins one.
func drawPage(t *rapid.T, m *machine) (command, bool) {
	if m.walk == nil {
		states := slices.Sorted(maps.Keys(indexesOf))
		w := &walk{state: pick(t, "state", append(states, store.Ready, store.Ready)...), seen: map[string]int{}}
		w.stays = m.last.members(w.state)
		m.walk = w
	}
	most := some(t, "most", 3)
	return command{
		text:   fmt.Sprintf("page of %s, %d", m.walk.state, most),
		send:   func(m *machine) (any, error) { return nil, m.page(most) },
		expect: func(*model.Queue) any { return nil },
	}, true
}

func (m *machine) page(most int) error {
	w := m.walk
	page, err := m.q.List(m.ctx, w.state, w.cursor, most, true)
	if err != nil {
		return err
	}
	for _, e := range page.Entries {
		w.seen[e.Member]++
	}
	w.pages++
	if w.cursor = page.Next; w.cursor == "" {
		m.walked()
		m.walk = nil
	}
	return nil
}

// follow keeps in mind what still stands where it stood. A lease that is renewed moves.
func (w *walk) follow(d dump) {
	now := d.members(w.state)
	maps.DeleteFunc(w.stays, func(what string, score int64) bool {
		at, stands := now[what]
		return !stands || at != score
	})
}

// walked checks a walk that came to its end: what stood there all the time was shown, once.
func (m *machine) walked() {
	w := m.walk
	for what := range w.stays {
		_, member, _ := strings.Cut(what, " ")
		if n := w.seen[member]; n != 1 {
			m.t.Fatalf("a list of %s in %d pages showed %s %d times", w.state, w.pages, member, n)
		}
	}
}
