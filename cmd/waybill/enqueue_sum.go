package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/waybillhq/waybill"
)

// tally counts outcomes and ends, and keeps the worst status.
type tally struct {
	counts map[waybill.Outcome]int64
	ends   map[string]int64 // of jobs that were waited for
	lines  int64
	skips  int64 // of lines: those that were left out
	worst  int
}

func newTally() tally {
	return tally{counts: map[waybill.Outcome]int64{}, ends: map[string]int64{}}
}

// add counts a job that was sent.
func (t *tally) add(e waybill.Enqueued) {
	t.lines++
	t.counts[e.Outcome]++
	t.raise(e.Err)
}

// skip counts a line that was left out.
func (t *tally) skip() { t.lines, t.skips = t.lines+1, t.skips+1 }

// ends are the words for how jobs ended that were waited for, in the order in which they are summed up.
var ends = []string{
	string(waybill.StateCompleted), string(waybill.StateDead), string(waybill.StateCancelled), string(waybill.StateDeleted), notEnded,
}

// notEnded: the wait was over, or failed.
const notEnded = "not ended"

// end counts a job that was waited for.
func (t *tally) end(err error) {
	word := notEnded
	if ended, ok := errors.AsType[*waybill.EndedError](err); ok {
		word = string(ended.State)
	}
	if err == nil {
		word = string(waybill.StateCompleted)
	}
	t.ends[word]++
	t.raise(err)
}

// raise makes the status that of err if that is worse.
func (t *tally) raise(err error) {
	if err == nil {
		return
	}
	status := meaningOf(err).status
	for _, s := range badness {
		if s == t.worst {
			return
		}
		if s == status {
			t.worst = s
			return
		}
	}
}

// err is nil where every job was taken.
func (t *tally) err() error {
	if t.worst == 0 {
		return nil
	}
	return told(t.worst)
}

// outcomes is the order in which outcomes are summed up.
var outcomes = []waybill.Outcome{
	waybill.OutcomeAccepted, waybill.OutcomeWaited, waybill.OutcomeSpilled, waybill.OutcomeDuplicate,
	waybill.OutcomeRejected, waybill.OutcomeConflict, waybill.OutcomeInvalid, waybill.OutcomeUnavailable,
	waybill.OutcomeUnknown,
}

// summary is how many jobs had which outcome, and how those ended that were waited for.
func (t *tally) summary() string {
	text := listed(outcomes, t.counts)
	if t.skips > 0 {
		text = strings.TrimPrefix(text+fmt.Sprintf(", %d skipped", t.skips), ", ")
	}
	if text == "" {
		return "nothing sent"
	}
	if over := listed(ends, t.ends); over != "" {
		text += "; " + over
	}
	return text
}

// listed is how many there are of which word, in the order of the words.
func listed[W ~string](words []W, counts map[W]int64) string {
	var parts []string
	for _, w := range words {
		if n := counts[w]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, w))
		}
	}
	return strings.Join(parts, ", ")
}

// summary is how many lines had which outcome.
func (s *sender) summary() string {
	return fmt.Sprintf("%s: %s", count(s.tally.lines, "line"), s.tally.summary())
}

// complaint is what was said of some lines, one after the other: said once, and how often in the end.
type complaint struct {
	text        string
	first, last int64
}

// complain tells people what is wrong with a line.
func (s *sender) complain(line int64, text string) {
	if line == s.told.last+1 && text == s.told.text {
		s.told.last = line
		return
	}
	s.endComplaint()
	s.told = complaint{text, line, line}
	s.live.clear()
	s.app.say("line %d: %s", line, text)
}

// endComplaint tells of how many lines the last complaint holds.
func (s *sender) endComplaint() {
	switch c := s.told; {
	case c.last > c.first+1:
		s.live.clear()
		s.app.say("lines %d to %d: the same", c.first+1, c.last)
	case c.last > c.first:
		s.live.clear()
		s.app.say("line %d: the same", c.last)
	}
	s.told = complaint{}
}

// finish sums up and gives the worst status. err is what ended the reading before its time.
func (s *sender) finish(err error) error {
	s.endComplaint()
	s.live.clear()
	s.app.say("%s", s.summary())
	if err != nil {
		s.tally.raise(err)
		s.app.say("%s", message(err))
	}
	return s.tally.err()
}
