package history

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strings"
)

// longest is the longest line that is read, in bytes.
const longest = 1 << 20

// run is a history that was read.
type run struct {
	lines     int64
	jobs      []*job
	byKey     map[key]*job
	effects   map[key]*effect
	scopes    map[string]bool // in which there are effects or receipts, or ought to be
	ledgers   map[string]bool // of scopes: all that was written stands in the history
	last      int64           // Done of the latest line, ns
	accounted map[string]bool // queues that stand in the account
	seeds     []uint64
	others    map[Op][]line // lines that are of no job
	loss      loss
	window    int64 // ns
	wait      int64 // ms
	jump      int64 // by how much a clock was set during the run at most, ms; 0 = none was

	lost, forgotten, unexpected int64 // what the checks counted

	tallied map[string]tally // see tallies

	words map[string]string
	sums  sums
}

// line is one that is of no job.
type line struct {
	number int64
	Event
}

func (l *line) fact() *fact {
	return &fact{line: l.number, op: l.Op, outcome: l.Outcome, process: l.Process, code: l.Code, begun: l.Begun, done: l.Done}
}

// effect is what stands of one receipt's key.
type effect struct {
	key
	rows, receipts []*fact
}

// read reads a history. Errors: ErrUnreadable, and those of r.
func read(r io.Reader) (*run, error) {
	h := &run{
		byKey: map[key]*job{}, effects: map[key]*effect{}, scopes: map[string]bool{}, ledgers: map[string]bool{}, accounted: map[string]bool{},
		others: map[Op][]line{}, words: map[string]string{}, sums: sums{maphash.MakeSeed()},
	}
	err := scan(r, func(number int64, e Event) {
		h.lines = number
		h.take(e)
	})
	if err != nil {
		return nil, err
	}
	h.settle()
	return h, nil
}

// scan gives the lines of a history with their numbers, from 1; empty ones it leaves out. Errors: ErrUnreadable, and those of r.
func scan(r io.Reader, each func(int64, Event)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), longest)
	number := int64(0)
	for lines.Scan() {
		number++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var e Event
		if err := e.decode(lines.Bytes()); err != nil {
			return &LineError{number, err.Error()}
		}
		each(number, e)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return &LineError{number + 1, fmt.Sprintf("it is longer than %d bytes", longest)}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("history, behind line %d: %w", number, err)
	}
	return nil
}

// take sorts a line in.
func (h *run) take(e Event) {
	h.last = max(h.last, e.Done)
	switch e.Op {
	case OpRun:
		h.begin(e)
	case OpLedger:
		h.ledgers[e.Queue], h.scopes[e.Queue] = true, true
	case OpEffect, OpReceipt:
		h.written(e)
	case OpSubscription, OpFault, OpSample, OpQueue, OpFinding, OpKeys:
		h.others[e.Op] = append(h.others[e.Op], line{h.lines, e})
		if e.Op == OpQueue {
			h.accounted[e.Queue] = true
		}
	default:
		if e.Op == OpJob {
			h.accounted[e.Queue] = true
		}
		j := h.job(key{h.word(e.Queue), e.Job})
		j.facts = append(j.facts, h.fact(e, j.id))
	}
}

// begin takes what is said of the run. Of several such lines the weakest bounds count.
func (h *run) begin(e Event) {
	if e.Seed != 0 {
		h.seeds = append(h.seeds, e.Seed)
	}
	h.loss.allow(e.Grade, e.LossMS)
	if window := e.WindowMS * ms; window > 0 && (h.window == 0 || window < h.window) {
		h.window = window
	}
	h.wait = max(h.wait, e.WaitMS)
}

// written takes an effect, or a receipt.
func (h *run) written(e Event) {
	k := key{h.word(e.Queue), e.Job}
	w := h.effects[k]
	if w == nil {
		w = &effect{key: k}
		h.effects[k] = w
	}
	h.scopes[k.queue] = true
	f := h.fact(e, k.id)
	if e.Op == OpEffect {
		w.rows = append(w.rows, &f)
	} else {
		w.receipts = append(w.receipts, &f)
	}
}

// settle draws from the faults what they allow, and leaves out what was asked and answered.
func (h *run) settle() {
	for _, j := range h.jobs {
		j.pair()
	}
	for i := range h.others[OpFault] {
		f := &h.others[OpFault][i]
		if f.Outcome != OK {
			continue
		}
		if strings.HasPrefix(f.Code, "clock") {
			h.jump = max(h.jump, f.DelayMS, -f.DelayMS, 1)
		}
		if strings.HasPrefix(f.Code, "redis killed") {
			h.loss.killed(f.fact())
		}
	}
}

func (h *run) job(k key) *job {
	j := h.byKey[k]
	if j == nil {
		j = &job{key: k}
		h.byKey[k] = j
		h.jobs = append(h.jobs, j)
	}
	return j
}

func (h *run) fact(e Event, id string) fact {
	f := fact{
		line: h.lines, op: Op(h.word(string(e.Op))), outcome: Outcome(h.word(string(e.Outcome))), process: h.word(e.Process),
		code: h.word(e.Code), hash: h.sums.of(e.Hash), token: h.sums.of(e.Token), fingerprint: h.sums.of(cmp.Or(e.Fingerprint, e.Hash)), begun: e.Begun, done: e.Done,
		claimed: e.ClaimedMS, due: e.DueMS, delay: e.DelayMS, late: e.LateMS, number: int32(e.Number),
		failures: int32(e.Failures), crashes: int32(e.Crashes), snoozes: int32(e.Snoozes), requeues: int32(e.Requeues),
		onlyWindow: e.Op == OpJob && e.Note == windowNote, event: e.Event,
	}
	if e.Event == id {
		f.event = id // one copy in memory
	}
	return f
}

// word is one copy of a word that comes often.
func (h *run) word(w string) string {
	known, ok := h.words[w]
	if !ok {
		h.words[w] = w
		return w
	}
	return known
}
