package store

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/waybillhq/waybill/internal/record"
)

// indexes of each state, in the order in which a list shows them.
var indexes = map[State][]string{
	Ready:        {"urgent", "ready", "suspects"},
	Scheduled:    {"due"},
	RetryState:   {"retry"},
	Parked:       {"parked"},
	SpilledState: {"overflow"},
	ActiveState:  {"leases"},
	DeadState:    {"dead"},
	EndedState:   {"done"},
}

// Entry is one line of an index.
type Entry struct {
	ID     string
	Member string // element, or lease member
	Info   Info   // without errors, cancel, progress and result; empty where only IDs were asked for
	// Err is what is wrong with the record: ErrNewer, record.ErrDamaged, or ErrNotFound for a ghost.
	Err error
}

// Page is a bounded part of a state's jobs.
type Page struct {
	Entries []Entry
	Next    string // cursor of the next page; "" at the end
}

// List reads a page of the jobs of a state, from a cursor ("" = the start), at most most (to 1,000).
// A cursor stays good while jobs come and go: no job that keeps its state is left out.
// CompletedState and CancelledState are both listed under EndedState.
func (q *Queue) List(ctx context.Context, state State, cursor string, most int, idsOnly bool) (Page, error) {
	keys, ok := indexes[state]
	if !ok {
		return Page{}, bad("state", "%q can't be listed", state)
	}
	name, position := keys[0], ""
	if cursor != "" {
		if name, position, ok = strings.Cut(cursor, "|"); !ok {
			return Page{}, bad("cursor", "%q is none of ours", cursor)
		}
	}
	for {
		page, err := q.page(ctx, state, name, position, most, idsOnly)
		if err != nil || len(page.Entries) > 0 || page.Next == "" {
			return page, err
		}
		name, position, _ = strings.Cut(page.Next, "|")
	}
}

func (q *Queue) page(ctx context.Context, state State, name, position string, most int, idsOnly bool) (Page, error) {
	with := "records"
	if idsOnly {
		with = "ids"
	}
	reply, _, err := q.call(ctx, "list", name, position, max(1, min(most, maxItems)), ClaimBytes, with)
	if err != nil {
		return Page{}, err
	}
	if len(reply) < 2 || (len(reply)-2)%4 != 0 {
		return Page{}, fmt.Errorf("list: %d values: %w", len(reply), errReply)
	}
	page := Page{Next: nextCursor(state, name, text(reply[1]))}
	for i := 2; i < len(reply); i += 4 {
		e := entry(state, text(reply[i]), reply[i+1:i+4], idsOnly)
		e.Info.Now = moment(reply[0])
		page.Entries = append(page.Entries, e)
	}
	return page, nil
}

func entry(state State, member string, rest []any, idsOnly bool) Entry {
	el := member
	if state == ActiveState {
		_, el, _ = strings.Cut(member, " ")
	}
	head, id, err := record.SplitElement(el)
	e := Entry{ID: id, Member: member, Err: err}
	if err != nil || idsOnly {
		return e
	}
	raw := text(rest[2])
	if raw == "" {
		e.Err = ErrNotFound
		return e
	}
	e.Info = Info{ID: id, State: state}
	if e.Err = e.Info.fill(raw, text(rest[1]), rest[0]); e.Err == nil && e.Info.Record.Head.String() != head {
		e.Err = ErrNotFound
	}
	if e.Err == nil && state == Ready && e.Info.Record.Head.Left {
		e.Err = ErrNotFound
	}
	return e
}

// nextCursor goes on in the same index, or in the next one of the state.
func nextCursor(state State, name, position string) string {
	if position != "" {
		return name + "|" + position
	}
	keys := indexes[state]
	for i, k := range keys[:len(keys)-1] {
		if k == name {
			return keys[i+1] + "|"
		}
	}
	return ""
}

// All walks all jobs of a state, page by page. It ends with an error where a page can't be read.
func (q *Queue) All(ctx context.Context, state State, idsOnly bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for cursor := ""; ; {
			page, err := q.List(ctx, state, cursor, 100, idsOnly)
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, e := range page.Entries {
				if !yield(e, nil) {
					return
				}
			}
			if cursor = page.Next; cursor == "" {
				return
			}
		}
	}
}
