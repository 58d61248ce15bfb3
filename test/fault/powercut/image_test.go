package powercut_test

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/internal/redistest"
)

// image is a server that was started on what a cut left.
type image struct {
	t      *testing.T
	tape   *tape
	server *redistest.Server
	rdb    *redis.Client
	client *waybill.Client
	jobs   map[name]waybill.JobInfo // that stand in an index
	log    []byte                   // the append-only file as it was left
	wrong  []string                 // what should not be so
}

func (m *image) say(format string, args ...any) {
	m.wrong = append(m.wrong, fmt.Sprintf(format, args...))
}

// start starts a server on an append-only file, and lists its jobs.
func start(t *testing.T, p *tape, log []byte) *image {
	t.Helper()
	s := redistest.Start(
		t, redistest.AOF(), redistest.Config("appendfsync", "no"), redistest.Config("auto-aof-rewrite-percentage", "0"),
		redistest.Holding(p.fill(log)),
	)
	m := &image{t: t, tape: p, server: s, rdb: s.Client(), client: clientOf(t, s), log: log, jobs: map[name]waybill.JobInfo{}}
	for _, q := range []string{wide, tight} {
		for j, err := range m.client.Queue(q).Jobs(t.Context(), waybill.Filter{}) {
			must(t, err)
			of := name{q, j.ID}
			if there, ok := m.jobs[of]; ok {
				m.say("job %v stands in two places: %s and %s", of, there.State, j.State)
			}
			m.jobs[of] = j
		}
	}
	return m
}

// truncated is what a server says that cuts the end of its file off.
var truncated = regexp.MustCompile(`Truncating the AOF .*at offset (\d+)`)

// size is how much of the append-only file the server took. The file itself soon has more: what expires is written there.
func (m *image) size() int64 {
	m.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(m.server.Output(), "eady to accept connections") { // it is read from a pipe
		select {
		case <-tick.C:
		case <-m.t.Context().Done():
			m.t.Fatal("the server does not say that it is ready")
		}
	}
	found := truncated.FindStringSubmatch(m.server.Output())
	if found == nil {
		return int64(len(m.log))
	}
	n, err := strconv.ParseInt(found[1], 10, 64)
	must(m.t, err)
	return n
}

// find gives a job, also one that only the window knows.
func (m *image) find(of name) (waybill.JobInfo, bool) {
	m.t.Helper()
	if j, ok := m.jobs[of]; ok {
		return j, true
	}
	j, err := m.client.Queue(of.queue).Get(m.t.Context(), of.id)
	if errors.Is(err, waybill.ErrNotFound) {
		return j, false
	}
	must(m.t, err)
	return j, true
}

// compare checks that all is there that the clients were told until then (I1, I4, I5), and nothing that they did not
// send (I2).
func (m *image) compare(until int64) {
	m.t.Helper()
	for of, j := range m.tape.jobs {
		info, ok := m.find(of)
		if j.accepted != 0 && j.accepted <= until && !ok {
			m.say("lost: job %v was accepted", of)
		}
		if ok {
			m.turns(of, info, until)
		}
	}
	for of, info := range m.jobs {
		j := m.tape.jobs[of]
		if j == nil {
			m.say("job %v was never sent", of)
		} else if got := history.Hash(info.Kind, info.Payload, info.Headers, info.Priority); got != j.hash {
			m.say("job %v is not what was sent", of)
		}
	}
}

// turns checks that a job stands no earlier than its clients were told.
func (m *image) turns(of name, info waybill.JobInfo, until int64) {
	j := m.tape.jobs[of]
	for _, b := range j.began {
		if b.at <= until && info.Known && info.Attempt < b.number {
			m.say("forgotten: attempt %d of job %v had begun, it has had %d", b.number, of, info.Attempt)
		}
	}
	for _, e := range j.over {
		ends := e.outcome == string(waybill.AttemptCompleted) || e.outcome == string(waybill.AttemptDead) ||
			e.outcome == string(waybill.AttemptCancelled)
		switch {
		case e.at > until:
		case ends && string(info.State) != e.outcome:
			m.say("forgotten: job %v had ended as %s, it is %s", of, e.outcome, info.State)
		case info.Known && (info.Attempt < e.number || info.State == waybill.StateActive && info.Attempt == e.number):
			m.say("forgotten: attempt %d of job %v had ended as %s, it is %s in attempt %d", e.number, of, e.outcome, info.State, info.Attempt)
		}
	}
}

// sound checks that everything stands where it should (I16) and that the counters add up (I9).
func (m *image) sound() {
	m.t.Helper()
	for _, name := range []string{wide, tight} {
		q := m.client.Queue(name)
		must(m.t, q.Audit(m.t.Context(), false, func(f waybill.Finding) {
			m.say("audit of %s: %s %s", name, f.What, f.Item)
		}, nil))
		s, err := q.Stats(m.t.Context())
		must(m.t, err)
		if s.Accepted+s.Requeued != s.Completed+s.Died+s.Cancelled+s.Deleted+s.Live() {
			m.say("jobs of %s do not add up: %+v", name, s)
		}
		if s.Deliveries != s.Completed+s.Failures+s.Crashes+s.Snoozes+s.Released+s.Cancelled+s.Active {
			m.say("deliveries of %s do not add up: %+v", name, s)
		}
		if s.Capacity != waybill.Unlimited && s.High > s.Capacity {
			m.say("%s had %d live jobs of %d", name, s.High, s.Capacity)
		}
	}
}
