package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/receipt"
)

// When the age of something is a warning.
const (
	lateSent = 10 * time.Second
	lateRead = time.Minute
)

// outboxFinding is what a status found; queue "" = of them all.
type outboxFinding struct {
	queue, check string
	level        receipt.Level
	what, do     string
}

// text is what was found, and what to do.
func (f outboxFinding) text() string {
	if f.do == "" {
		return f.what
	}
	return f.what + ": " + f.do
}

func levelColour(l receipt.Level) string {
	return map[receipt.Level]string{receipt.LevelOK: green, receipt.LevelWarn: yellow, receipt.LevelBad: red}[l]
}

func notOK(found []outboxFinding) []outboxFinding {
	return slices.DeleteFunc(slices.Clone(found), func(f outboxFinding) bool { return f.level == receipt.LevelOK })
}

func worstOf(found []outboxFinding) receipt.Level {
	var all []receipt.Finding
	for _, f := range found {
		all = append(all, receipt.Finding{Level: f.level})
	}
	return worst(all)
}

// check looks at everything that was read.
func (s outboxState) check() []outboxFinding {
	var all []outboxFinding
	if s.away != nil {
		all = append(all, outboxFinding{
			"", "redis", receipt.LevelWarn, "it is not known whether redis lost data: " + s.away.Error(), checkHint(s.away),
		})
	}
	for _, q := range s.Queues {
		all = append(all, s.checkQueue(q)...)
	}
	if len(all) == 0 {
		all = append(all, outboxFinding{"", "outbox", receipt.LevelOK, "it has no rows, and no queue knows it", ""})
	}
	return all
}

// checkQueue looks at one queue. Where Redis lost data the relay's delay is no finding of its own.
func (s outboxState) checkQueue(q outbox.QueueStats) []outboxFinding {
	var found []outboxFinding
	add := func(check string, level receipt.Level, what, do string) {
		if level == receipt.LevelOK {
			do = ""
		}
		found = append(found, outboxFinding{q.Queue, check, level, what, do})
	}
	lost, why := s.lost(q)
	_, told := s.seen[q.Queue]
	switch {
	case lost:
		add("redis", receipt.LevelBad, "redis lost data, nothing is sent there: "+why, "run waybill outbox replay")
	case told:
		add("redis", receipt.LevelOK, "it knows of all that it was sent", "")
	}
	if !lost {
		add("sending", warnIf(late(s, q.Oldest, lateSent) || s.held(q) != ""), s.sending(q), s.send(q))
		add("reading", warnIf(s.unheard(q)), s.reading(q), "start a relay, or read its log")
	}
	add("strangers", warnIf(q.Strangers > 0), fmt.Sprintf("%s of jobs that have no row here", grouped(q.Strangers, "word")),
		"if their rows are gone for good, run waybill outbox forget --strangers --queue "+q.Queue)
	add("set aside", warnIf(q.SetAside > 0), grouped(q.SetAside, "row")+" set aside", "waybill outbox list says why")
	return found
}

func warnIf(bad bool) receipt.Level {
	if bad {
		return receipt.LevelWarn
	}
	return receipt.LevelOK
}

func late(s outboxState, t time.Time, most time.Duration) bool {
	return !t.IsZero() && s.since(t) > most
}

// unheard tells whether no relay has read for long. Before the first one it is long from the oldest row on.
func (s outboxState) unheard(q outbox.QueueStats) bool {
	if q.ReadAt.IsZero() {
		return late(s, q.Oldest, lateRead)
	}
	return late(s, q.ReadAt, lateRead)
}

func (s outboxState) sending(q outbox.QueueStats) string {
	if q.New == 0 {
		return "no row waits"
	}
	text := fmt.Sprintf("%s not sent, the oldest for %s", grouped(q.New, "row"), s.ago(q.Oldest))
	if held := s.held(q); held != "" {
		text += ": " + held
	}
	return text
}

// held is why rows of a topic wait, "" where it takes them, none waits, or Redis did not tell.
func (s outboxState) held(q outbox.QueueStats) string {
	if q.New == 0 {
		return ""
	}
	return s.seen[q.Queue].Held
}

// send says what to do about rows that wait.
func (s outboxState) send(q outbox.QueueStats) string {
	topic, ok := store.TopicOf(q.Queue)
	switch {
	case !ok:
		return "start a relay, or read its log; or the queue is full: queue stats " + q.Queue
	case s.held(q) != "":
		return "start a worker that subscribes; topic stats " + topic
	}
	return "start a relay, or read its log"
}

func (s outboxState) reading(q outbox.QueueStats) string {
	if q.ReadAt.IsZero() {
		return "no relay has read so far"
	}
	return "a relay last read " + s.ago(q.ReadAt) + " ago"
}

// outboxFindingObject is the object of one finding; queue null = of them all.
type outboxFindingObject struct {
	Queue   *string `json:"queue"`
	Check   string  `json:"check"`
	Level   string  `json:"level"`
	Message string  `json:"message"`
	Do      *string `json:"do"`
}

func (a *app) printOutboxFindings(found []outboxFinding) error {
	if !a.json {
		return a.printRows(findingRows(found))
	}
	for _, f := range found {
		o := outboxFindingObject{orNil(f.queue), f.check, string(f.level), oneLine(f.what), orNil(f.do)}
		if err := printJSON(a.stdout, o); err != nil {
			return err
		}
	}
	return nil
}

func findingRows(found []outboxFinding) [][]cell {
	var rows [][]cell
	for _, f := range found {
		queue := f.queue
		if queue == "" {
			queue = "-"
		}
		rows = append(rows, []cell{{string(f.level), levelColour(f.level)}, {text: queue}, {text: f.check}, {text: oneLine(f.text())}})
	}
	return rows
}
