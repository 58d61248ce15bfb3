package store_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/model"
)

// boxes are the names of outboxes; the last one seldom enters.
var boxes = []string{"red", "blue", "green"}

// sent is the answer of a send, read that of a pass over the words of an outbox, entry that of an entering.
type (
	sent struct {
		Out      []store.Enqueued
		Standing store.Standing
		Err      error
	}
	read struct {
		Words    []string
		Standing store.Standing
		Err      error
	}
	entry struct {
		Standing store.Standing
		Err      error
	}
)

// expected gives an error that a command asks for as an answer.
func expected(err error, want ...error) (answer, failure error) {
	for _, w := range want {
		if errors.Is(err, w) {
			return w, nil
		}
	}
	return nil, err
}

func enterCommand(name string) command {
	return command{
		text: "enter " + name, changes: true,
		send: func(m *machine) (any, error) {
			s, err := m.q.Outbox(name).Enter(m.ctx)
			answer, err := expected(err, store.ErrCrowded)
			return entry{s, answer}, err
		},
		expect: func(q *model.Queue) any {
			s, err := q.Enter(name)
			return entry{s, err}
		},
	}
}

func forgetCommand(name string) command {
	return command{
		text: "forget " + name, changes: true,
		send:   func(m *machine) (any, error) { return nil, m.q.Outbox(name).Forget(m.ctx) },
		expect: func(q *model.Queue) any { q.Forget(name); return nil },
	}
}

func lookCommand(name string) command {
	return command{
		text:   "standing " + name,
		send:   func(m *machine) (any, error) { return m.q.Outbox(name).Look(m.ctx) },
		expect: func(q *model.Queue) any { return q.Look(name) },
	}
}

func boxesCommand() command {
	return command{
		text:   "outboxes",
		send:   func(m *machine) (any, error) { return m.q.Outboxes(m.ctx) },
		expect: func(q *model.Queue) any { return q.Outboxes() },
	}
}

func statesCommand(ids []string) command {
	return command{
		text:   fmt.Sprintf("states %v", ids),
		send:   func(m *machine) (any, error) { return m.q.States(m.ctx, ids) },
		expect: func(q *model.Queue) any { return q.States(ids) },
	}
}

// sendCommand sends jobs of an outbox.
func sendCommand(name string, number byte, adds []store.Add, spill bool) command {
	c := enqueueCommand(adds, spill)
	c.text = fmt.Sprintf("send %s as %q, %s", name, number, strings.TrimPrefix(c.text, "enqueue "))
	refuse := false
	c.send = func(m *machine) (any, error) {
		// A stranger is told so before anything is written; where scripts have headers, the refusal comes before.
		refuse = m.full && number != 0 && (!m.v.noHeaders || m.m.Number(name) == number)
		got, s, err := m.q.Outbox(name).Send(m.ctx, number, slices.Clone(adds), spill)
		for i := range got {
			if got[i].Capacity < 0 {
				got[i].Depth = 0 // counted only where there is a capacity
			}
		}
		answer, err := expected(err, store.ErrStranger)
		return sent{got, s, answer}, err
	}
	c.expect = func(q *model.Queue) any {
		if refuse {
			return sent{Out: refused(len(adds))}
		}
		out, s, err := q.Send(name, number, adds, spill)
		return sent{out, s, err}
	}
	return c
}

// readCommand makes a pass over the words of an outbox, after it took some away.
func readCommand(name string, number byte, done []store.Word) command {
	texts := make([]string, len(done))
	for i, w := range done {
		texts[i] = w.ID + " " + w.Raw()
	}
	return command{
		text: fmt.Sprintf("read %s as %q, done %q", name, number, texts), changes: true,
		send: func(m *machine) (any, error) {
			var r read
			done := done
			for cursor := ""; cursor != "0"; done = nil {
				words, next, s, err := m.q.Outbox(name).Read(m.ctx, number, max(cursor, "0"), done)
				if err != nil {
					answer, err := expected(err, store.ErrStranger)
					return read{Err: answer}, err
				}
				r.Standing, cursor = s, next
				for _, w := range words {
					r.Words = append(r.Words, w.ID+" "+w.Raw())
				}
				m.words = append(m.words, words...)
			}
			slices.Sort(r.Words)
			r.Words = slices.Compact(r.Words)
			return r, nil
		},
		expect: func(q *model.Queue) any {
			words, s, err := q.Read(name, number, texts)
			return read{words, s, err}
		},
	}
}

// drawNumber draws an outbox and a number: most often its own.
func (m *machine) drawNumber(t *rapid.T) (string, byte) {
	name := pick(t, "outbox", boxes[0], boxes[0], boxes[0], boxes[1], boxes[1], boxes[2])
	number := m.m.Number(name)
	if rarely(t, "stranger", 6) {
		number = pick(t, "number", '0', '1', 'x', byte(0))
	}
	return name, number
}

func drawSend(t *rapid.T, m *machine) (command, bool) {
	adds := make([]store.Add, some(t, "jobs", 5))
	for i := range adds {
		adds[i] = m.drawAdd(t)
	}
	name, number := m.drawNumber(t)
	if number == 0 && !rarely(t, "not entered", 4) {
		return enterCommand(name), true
	}
	return sendCommand(name, number, adds, rarely(t, "spill", 3)), true
}

func drawRead(t *rapid.T, m *machine) (command, bool) {
	name, number := m.drawNumber(t)
	if number == 0 && !rarely(t, "not entered", 4) {
		return command{}, false
	}
	var done []store.Word
	if last := m.words[max(0, len(m.words)-30):]; len(last) > 0 {
		for range rapid.IntRange(0, 4).Draw(t, "done") {
			done = append(done, pick(t, "word", last...))
		}
	}
	return readCommand(name, number, done), true
}

func drawBoxes(t *rapid.T, m *machine) (command, bool) {
	switch name, _ := m.drawNumber(t); pick(t, "what", "standing", "list", "enter", "forget") {
	case "standing":
		return lookCommand(name), true
	case "enter":
		return enterCommand(name), true
	case "forget":
		return forgetCommand(name), rarely(t, "forget", 3)
	}
	return boxesCommand(), true
}

func drawStates(t *rapid.T, m *machine) (command, bool) {
	return statesCommand(m.drawManyIDs(t)), true
}
