// Package model tells the promises of a queue a second time, in plain Go over maps: what each call
// of package store must answer, and what must then stand in Redis. Tests send the same calls to both
// and compare after every step. It is written from DESIGN and from the promises on top of the
// scripts, knows no Redis, and its clock is a number that the test moves.
package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// phase bounds each kind of upkeep in one claim, and the cut of the dead.
const phase = 100

// hour is also the longest lease, and the least time a cancelled job stays readable. Milliseconds.
const hour = 3_600_000

// place is where a job stands. A job has one, so the model can't lose or double it.
type place int

const (
	ready    place = iota // in line: priority 0
	urgent                // by class: another priority
	suspects              // crashed twice or more
	parked                // of a kind that a claimer did not know, or had no room for
	due                   // for a time, first or snoozed
	retry                 // for a time, after a failure or second crash
	overflow              // spilled
	leases                // active
	dead
	done // completed or cancelled, still readable
	nowhere
)

// names of the places, as Redis has them.
var names = [...]string{"ready", "urgent", "suspects", "parked", "due", "retry", "overflow", "leases", "dead", "done"}

type job struct {
	add   store.Add
	el    string // its element, once asked for
	seq   uint64
	born  int64 // enqueued at
	at    place
	score int64 // order within the place: a time, or a class and number
	left  bool  // it left the line before it was claimed; its element still stands there
}

func (j *job) head() record.Head {
	return record.Head{Priority: j.add.Priority, LIFO: j.add.LIFO, Seq: j.seq}
}

func (j *job) element() string {
	if j.el == "" {
		j.el = j.head().Element(j.add.ID) // it never changes
	}
	return j.el
}

// live tells whether the job has not ended.
func (j *job) live() bool { return j.at <= leases }

func (j *job) fingerprint() string { return record.Fingerprint(j.add.Job.Kind, j.add.Job.Payload) }

func (j *job) outbox() byte {
	if j.add.Job.Outbox == 0 {
		return record.NoOutbox
	}
	return j.add.Job.Outbox
}

func (j *job) retention() int64 { return j.add.Job.Retention.Milliseconds() }

// dueAt is when a job was asked to run.
func (j *job) dueAt(now int64) int64 {
	if !j.add.Job.At.IsZero() {
		return j.add.Job.At.UnixMilli()
	}
	return now + j.add.Job.Delay.Milliseconds()
}

// raw is the record as it stands in Redis.
func (j *job) raw() string {
	head := j.head().String()
	if j.left {
		head = head[:3] + strings.ToLower(head[3:4]) + head[4:]
	}
	return "1" + head + fmt.Sprintf("%011x", j.born) + string(j.add.Job.Blob())
}

// run is what is known of a job that was claimed or ended.
type run struct {
	attempts, failures, crashes, snoozes int
	token, outcome                       string
	started, ended                       int64 // ended 0: an attempt runs
}

func (r *run) String() string {
	s := fmt.Sprintf("%d %d %d %d %s %s %d", r.attempts, r.failures, r.crashes, r.snoozes, r.token, r.outcome, r.started)
	if r.outcome == "active" {
		return fmt.Sprintf("%-66s", s)
	}
	if r.ended > 0 {
		s += " " + strconv.FormatInt(r.ended, 10)
	}
	return s
}

type claim struct {
	number, at int64
	elements   []string
}

// Queue is the model of one queue.
type Queue struct {
	Now int64 // ms since 1970
	// Back gives the time, from least to most, at which a suspect comes back: scripts leave it to chance.
	Back func(element string, least, most int64) int64
	// Retired tells whether a worker that may be forgotten was.
	Retired func(worker string) bool
	// News and Control collect what is published, ends of jobs and what is said to workers, for the test to empty.
	News, Control []string

	name      string
	jobs      map[string]*job
	line      []string         // elements in line, ghosts among them
	done      map[string]int64 // element of an ended job → end of its retention
	runs      map[string]*run
	faults    map[string][]string
	progress  map[string]store.Progress
	cancels   map[string]string
	results   map[string]string
	claims    map[string]*claim
	kinds     []string // parked at some time; the number is the place from 1
	generated window
	named     window
	told      map[byte]map[string]string
	boxes     map[byte]*box // outboxes by number
	counts    map[string]int64
	settings  map[string]string
	bell      bool

	seq                     uint64
	tellings, high, created int64
	fresh                   bool // of a claim: it left what another worker may take
	aside                   bool // of a claim: it parked jobs
}

// New makes the model of a queue that nobody has touched.
func New(name string, now int64) *Queue {
	return &Queue{
		name: name, Now: now, jobs: map[string]*job{}, done: map[string]int64{}, runs: map[string]*run{},
		faults: map[string][]string{}, cancels: map[string]string{}, results: map[string]string{},
		claims: map[string]*claim{}, told: map[byte]map[string]string{}, boxes: map[byte]*box{}, counts: map[string]int64{},
		settings: map[string]string{}, progress: map[string]store.Progress{}, generated: newWindow(60_000), named: newWindow(hour),
	}
}

// limit is the value of a setting; ok is false where there is no bound.
func (q *Queue) limit(name string, standard int64) (n int64, ok bool) {
	s, set := q.settings[name]
	if !set {
		return standard, standard >= 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func (q *Queue) capacity() (int64, bool) { return q.limit("capacity", -1) }

// in gives the jobs of a place in its order. The line's order is q.line.
func (q *Queue) in(at place) []*job {
	var out []*job
	for _, j := range q.jobs {
		if j.at == at {
			out = append(out, j)
		}
	}
	slices.SortFunc(out, func(a, b *job) int {
		if a.score != b.score {
			return cmp.Compare(a.score, b.score)
		}
		return cmp.Compare(q.member(a), q.member(b))
	})
	return out
}

// member is what stands for the job in its place.
func (q *Queue) member(j *job) string {
	if j.at == leases {
		return q.runs[j.add.ID].token + " " + j.element()
	}
	return j.element()
}

// live counts the jobs that have not ended.
func (q *Queue) live() (n int64) {
	for _, j := range q.jobs {
		if j.live() {
			n++
		}
	}
	return n
}

func (q *Queue) spilled() int64 { return int64(len(q.in(overflow))) }

// raise notes the most live jobs, without the spill, that a queue with a capacity held.
func (q *Queue) raise() {
	if _, ok := q.capacity(); ok {
		q.high = max(q.high, q.live()-q.spilled())
	}
}

// inLine finds the job behind an element of the line; nil: a ghost.
func (q *Queue) inLine(el string) *job {
	_, id, err := record.SplitElement(el)
	if err != nil {
		return nil
	}
	if j := q.jobs[id]; j != nil && j.at == ready && j.element() == el {
		return j
	}
	return nil
}

func (q *Queue) ghosts() (n int64) {
	for _, el := range q.line {
		if q.inLine(el) == nil {
			n++
		}
	}
	return n
}

// Scores of one class; where its part for first in, first out begins.
const one, half = 1 << 42, 1 << 41

// put makes a job claimable: at the end of its class, or in front.
func (q *Queue) put(j *job, front bool) {
	if j.add.Priority == 0 {
		j.at, j.score = ready, 0
		if front || j.add.LIFO {
			q.line = append([]string{j.element()}, q.line...)
		} else {
			q.line = append(q.line, j.element())
		}
		return
	}
	within := int64(half + j.seq)
	switch {
	case front:
		within = 0
	case j.add.LIFO:
		within = half - int64(j.seq)
	}
	j.at, j.score = urgent, int64(record.MaxPriority-j.add.Priority)*one+within
}

// wait lets a job wait for a time.
func (q *Queue) wait(j *job, at place, until int64) { j.at, j.score = at, until }

// soonest is the first time that a place waits for; ok is false where it is empty.
func (q *Queue) soonest(at place) (t int64, ok bool) {
	for _, j := range q.jobs {
		if j.at == at && (!ok || j.score < t) {
			t, ok = j.score, true
		}
	}
	return t, ok
}

// leave takes a waiting or active job out of its place. In line its element stays, as a ghost.
func (q *Queue) leave(j *job) {
	j.left = j.at == ready
	j.at = nowhere
}

// clear forgets what jobs leave beside their records.
func (q *Queue) clear(id string) {
	delete(q.runs, id)
	delete(q.faults, id)
	delete(q.cancels, id)
	delete(q.progress, id)
}

// runOf is the run entry of a job, a blank one where there is none.
func (q *Queue) runOf(id string) *run {
	if r := q.runs[id]; r != nil {
		return r
	}
	return &run{token: "-", outcome: "-"}
}

func (q *Queue) saveRun(id string, r *run, outcome string) {
	r.outcome, r.ended = outcome, q.Now
	q.runs[id] = r
}

// fault keeps the last ten errors of a job.
func (q *Queue) fault(id, line string) {
	if line == "" {
		return
	}
	lines := append(q.faults[id], line)
	q.faults[id] = lines[max(0, len(lines)-10):]
}

func (q *Queue) count(name string, n int64) {
	if n != 0 {
		q.counts[name] += n
	}
}

func (q *Queue) ring() { q.bell = true }

// Ring is store.Queue.Ring.
func (q *Queue) Ring() {
	q.ring()
}

// Listen takes the bell's token, if there is one.
func (q *Queue) Listen() bool {
	rang := q.bell
	q.bell = false
	return rang
}
