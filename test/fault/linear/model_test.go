package linear_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

// place is where a job stands, in the words of the get script.
type place string

const (
	absent    place = "gone"
	ready     place = "ready"
	scheduled place = "scheduled"
	retrying  place = "retry"
	active    place = "active"
	dead      place = "dead"
	ended     place = "ended" // and still readable
	known     place = "known" // to the window only
)

// never is a time that no clock tells; allowance is how many crashes a job is forgiven, by default.
const (
	never     = math.MaxInt64
	allowance = 5
	hour      = 3600_000
)

// job is the state of a job. Times are of the server's clock, in ms.
type job struct {
	place            place
	print            string // fingerprint of what was enqueued
	attempts         int
	failures         int
	crashes          int
	token, last      string // of the run entry: of the attempt that runs or ran last, and how it ended
	window           string // the token that the window remembers; "" = it knows nothing of the job
	asked            bool   // for a cancel
	earliest, latest int64  // the deadline of the lease, or when it is due: between these
	now              int64  // the clock is at least here
}

// call is one frame: a verb of the store and what it says of one job.
type call struct {
	verb      string
	worker    string
	number    string // of a claim
	lease     int64
	token     string
	end       string
	delay     int64
	retention int64
	print     string
	options   string
}

// reply is the answer, as far as it is about one job.
type reply struct {
	given    bool // false: there was none, so the call may have happened or not, at any time after
	now      int64
	word     string
	took     bool   // claim: the job is among those given
	token    string // of it; get: of the last attempt
	attempts int
	failures int
	crashes  int
	at       int64 // claim: the deadline; get: the deadline or due time
}

// outcome is one way in which a call can go.
type outcome struct {
	job
	word string
	took bool
}

var model = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{job{place: absent}} },
	Step: func(state, input, output any) []any {
		var next []any
		for _, s := range step(state.(job), input.(call), output.(reply)) {
			next = append(next, s)
		}
		return next
	},
	DescribeOperation: func(input, output any) string { return describe(input.(call), output.(reply)) },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}).ToModel()

// step gives the states in which a job can be after a call that was answered so.
func step(s job, c call, r reply) []job {
	if !r.given {
		out := []job{s} // it never happens
		for _, o := range outcomes(s, c, never) {
			if o.job != s {
				out = append(out, o.job)
			}
		}
		return out
	}
	if r.now < s.now {
		return nil // clocks of one server do not go back
	}
	s.now = r.now
	var out []job
	for _, o := range outcomes(s, c, r.now) {
		if o.word == r.word && o.took == r.took && agrees(&o.job, c, r) {
			out = append(out, o.job)
		}
	}
	return out
}

// agrees compares what an answer tells beyond its word, and learns from it.
func agrees(s *job, c call, r reply) bool {
	switch {
	case c.verb == "claim" && r.took:
		fresh := r.word == "again" || r.at == r.now+c.lease
		return fresh && r.token == s.token && r.attempts == s.attempts && r.failures == s.failures && r.crashes == s.crashes
	case c.verb != "get":
		return true
	}
	if s.place == absent || s.place == known {
		return true
	}
	if r.attempts != s.attempts || r.failures != s.failures || r.crashes != s.crashes || s.token != r.token {
		return false
	}
	if s.place == active || s.place == scheduled || s.place == retrying {
		if r.at < s.earliest || r.at > s.latest {
			return false
		}
		s.earliest, s.latest = r.at, r.at
	}
	return true
}

// outcomes are all ways in which a call can go, at s.now or later, at until at the latest.
func outcomes(s job, c call, until int64) []outcome {
	switch c.verb {
	case "enqueue":
		return []outcome{enqueue(s, c, until)}
	case "claim":
		return claims(s, c, until)
	case "renew", "progress":
		return []outcome{extend(s, c, until)}
	case "settle":
		return []outcome{settle(s, c, until)}
	case "cancel", "delete", "requeue", "promote":
		return []outcome{change(s, c)}
	case "get":
		return []outcome{{job: s, word: string(s.place)}}
	}
	panic("no verb " + c.verb)
}

// within sets when something is due: after d ms from now on.
func (s *job) within(d, until int64) {
	s.earliest, s.latest = s.now+d, never
	if until != never {
		s.latest = until + d
	}
}

func enqueue(s job, c call, until int64) outcome {
	if s.place != absent {
		if s.print != c.print {
			return outcome{job: s, word: "conflict"}
		}
		return outcome{job: s, word: "duplicate"}
	}
	s.place, s.print = ready, c.print
	if c.delay > 0 {
		s.place = scheduled
		s.within(c.delay, until)
	}
	return outcome{job: s, word: "accepted"}
}

// claims are the ways of a claim: it takes the job or another one, or was answered before.
func claims(s job, c call, until int64) []outcome {
	held := s.place == active && strings.HasSuffix(s.token, "-"+c.worker+"."+c.number)
	out := []outcome{{s, "late", false}, {s, "again", held}}
	for _, kept := range upkeep(s, c, until) {
		out = append(out, outcome{kept, "ok", false})
		if kept.place == ready {
			kept.attempts++
			kept.place, kept.token, kept.last = active, strconv.Itoa(kept.attempts)+"-"+c.worker+"."+c.number, "active"
			kept.within(c.lease, until)
			out = append(out, outcome{kept, "ok", true})
		}
	}
	return out
}

// upkeep is what every claim does first: leases that ran out are taken back, what is due becomes ready.
func upkeep(s job, c call, until int64) []job {
	if s.place != active && s.place != scheduled && s.place != retrying {
		return []job{s}
	}
	var out []job
	if s.latest > s.now {
		still := s
		if until != never {
			still.earliest = max(s.earliest, s.now+1)
		}
		out = append(out, still)
	}
	if s.earliest > until {
		return out
	}
	s.now = max(s.now, s.earliest)
	if s.place != active {
		s.place = ready
		return append(out, s)
	}
	return append(out, takeBack(s, c, until))
}

func takeBack(s job, c call, until int64) job {
	s.crashes++
	s.token, s.last = "!"+s.token, "lost"
	switch {
	case s.asked:
		s.place, s.last, s.window = ended, "cancelled", s.token
	case s.crashes > allowance:
		s.place, s.last = dead, "dead"
		s.asked = false
	case s.crashes > 1:
		s.place = retrying
		s.within(1, until)
		if until != never {
			s.latest = until + min(c.lease<<(s.crashes-2), hour)
		}
	default:
		s.place = ready
	}
	return s
}

// extend is a renewal, or word of progress, which leaves the lease as it is.
func extend(s job, c call, until int64) outcome {
	if s.place != active || s.token != c.token {
		return outcome{job: s, word: "lost"}
	}
	if c.verb == "renew" {
		s.within(c.lease, until)
	}
	if s.asked {
		return outcome{job: s, word: "cancelled"}
	}
	return outcome{job: s, word: "held"}
}

func settle(s job, c call, until int64) outcome {
	if s.place != active || s.token != c.token {
		return outcome{job: s, word: refused(s, c)}
	}
	s.last = c.end
	switch c.end {
	case "ack":
		s.place, s.window = known, s.token
	case "complete":
		s.place, s.last, s.window, s.asked = ended, "completed", s.token, false
	case "cancel":
		s.place, s.last, s.window = ended, "cancelled", s.token
	case "dead":
		s.failures++
		s.place, s.asked = dead, false
	default:
		return goBack(s, c, until)
	}
	return outcome{job: s, word: "done"}
}

func goBack(s job, c call, until int64) outcome {
	if s.asked {
		s.place, s.last, s.window = ended, "cancelled", s.token
		return outcome{job: s, word: "cancelled"}
	}
	switch c.end {
	case "retry":
		s.failures++
		s.place = retrying
		s.within(c.delay, until)
	case "snooze":
		s.place = scheduled
		s.within(c.delay, until)
	case "release":
		s.place = ready
	}
	return outcome{job: s, word: "done"}
}

// refused is what an attempt is told that holds no lease.
func refused(s job, c call) string {
	switch {
	case s.window == c.token, s.token == c.token && s.last != "active":
		return "already"
	case s.place == absent:
		return "gone"
	}
	return "stale"
}

// change is what an operator asks for.
func change(s job, c call) outcome {
	if s.place == absent || s.place == known {
		return outcome{job: s, word: "gone"}
	}
	waits := s.place == ready || s.place == scheduled || s.place == retrying
	switch {
	case c.verb == "cancel" && waits:
		s.place, s.last, s.asked = ended, "cancelled", true
		s.window = cmpOr(s.token)
		return outcome{job: s, word: "cancelled"}
	case c.verb == "cancel" && s.place == active:
		s.asked = true
		return outcome{job: s, word: "requested"}
	case c.verb == "cancel":
		return outcome{job: s, word: "ended"}
	case c.verb == "delete":
		return remove(s, c)
	case c.verb == "requeue" && s.place == dead:
		s.place, s.last, s.failures, s.crashes = ready, "requeued", 0, 0
		return outcome{job: s, word: "requeued"}
	case c.verb == "promote" && (s.place == scheduled || s.place == retrying):
		s.place = ready
		return outcome{job: s, word: "promoted"}
	}
	return outcome{job: s, word: "state"}
}

func remove(s job, c call) outcome {
	if s.place == active && !strings.Contains(c.options, "force") {
		return outcome{job: s, word: "active"}
	}
	if s.place != ended {
		s.window = "-"
	}
	s.place, s.token, s.last, s.asked = known, "", "", false
	return outcome{job: s, word: "deleted"}
}

// cmpOr is the token of the window for a job that may never have run.
func cmpOr(token string) string {
	if token == "" {
		return "-"
	}
	return token
}

func describe(c call, r reply) string {
	what := c.verb
	for _, s := range []string{c.worker, c.number, c.token, c.end, c.options} {
		if s != "" {
			what += " " + s
		}
	}
	if c.delay > 0 {
		what += fmt.Sprintf(" %d ms", c.delay)
	}
	switch {
	case !r.given:
		return what + ": no answer"
	case r.took:
		return fmt.Sprintf("%s: %s, takes %s until %d, at %d", what, r.word, r.token, r.at, r.now)
	}
	return fmt.Sprintf("%s: %s, at %d", what, r.word, r.now)
}
