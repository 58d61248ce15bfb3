package protocol

import "fmt"

// line tells what happens in a step. It is only put into words where somebody reads it.
type line func() string

// tell is given what may happen next.
type tell func(what line, to state)

// next gives all states that may come after s, each with what happens and with what that breaks ("" = nothing).
func (s *state) next(r Rules, give func(what line, to state, against string)) {
	all := func(what line, to state, against string) {
		to.tidy(r)
		if against == "" {
			against = to.broken(r)
		}
		give(what, to, against)
		if r.Rollbacks > 0 && !s.marked && to.server != s.server {
			to.marked, to.mark = true, s.server
			give(func() string { return what() + " (this, and what follows in the server, is lost later)" }, to, against)
		}
	}
	tell := func(what line, to state) { all(what, to, "") }
	for w := range s.workers {
		s.do(r, w, tell)
	}
	for i, m := range s.sent {
		if m.verb != none {
			s.deliver(r, i, all)
		}
	}
	s.pass(r, tell)
}

// first is where all begins: every producer has sent its first call, and every worker its first claim. They may arrive at any
// time, so that nobody needs to be looked at while it does not send yet; the same goes for all that is sent later.
func first(r Rules) state {
	var s state
	for i := range r.Jobs {
		if r.IDs == CounterIDs {
			s.producers[i].asking = counting
			s.send(message{verb: count, from: uint8(i + 1)})
			continue
		}
		s.enqueues(i, uint8(i+1))
	}
	for w := range s.workers {
		s.claims(r, w)
	}
	s.tidy(r)
	return s
}

func (s *state) enqueues(i int, id uint8) {
	s.producers[i].asking, s.producers[i].id = sending, id
	s.send(message{verb: enqueue, from: uint8(i + 1), id: id})
}

// deliver lets a message arrive, for the first time or again; its answer comes, or is lost.
func (s *state) deliver(r Rules, i int, give func(line, state, string)) {
	from := *s
	m := &from.sent[i]
	how := "arrives"
	if m.arrived {
		if int(s.used.copies) >= r.Copies {
			return
		}
		from.used.copies++
		how = "arrives once more"
	}
	m.arrived = true
	if m.verb == count && s.server.counter == mostIDs {
		return
	}
	for _, pick := range from.picks(*m) {
		to := from
		a := to.arrive(r, *m, pick)
		lost := to
		to.answered(r, *m, a)
		what := func() string { return arrival(*m, how, pick, a) }
		for _, x := range []struct {
			state
			what line
		}{{to, what}, {lost, func() string { return what() + ", and the answer is lost" }}} {
			give(x.what, x.state, a.against)
		}
	}
}

func arrival(m message, how string, pick uint8, a answer) string {
	what := fmt.Sprintf("the %s %s", m.title(), how)
	if pick > 0 && a.id > 0 {
		what += fmt.Sprintf(", takes ID %d as attempt %d", a.id, a.job.attempts)
	}
	return what + ": " + a.word
}

// picks are the jobs of which a claim may take one.
func (s *state) picks(m message) []uint8 {
	out := make([]uint8, 0, mostIDs)
	if m.verb == claim {
		for i, j := range s.server.jobs {
			if j.place == ready {
				out = append(out, uint8(i+1))
			}
		}
	}
	if len(out) == 0 {
		out = append(out, 0)
	}
	return out
}

// answered gives an answer to who waits for it.
func (s *state) answered(r Rules, m message, a answer) {
	if m.verb != count && m.verb != enqueue {
		s.hear(r, m, a)
		return
	}
	p := &s.producers[m.from-1]
	switch {
	case m.verb == count && p.asking == counting:
		s.enqueues(int(m.from-1), a.id)
	case m.verb == enqueue && p.asking == sending:
		p.asking = told
	}
}

// pass is what happens by itself in the server.
func (s *state) pass(r Rules, next tell) {
	for i, j := range s.server.jobs {
		to := *s
		it := &to.server.jobs[i]
		switch {
		case j.place == leased && int(s.used.expiries) < r.Expiries:
			to.used.expiries++
			it.place = expired
			next(func() string { return fmt.Sprintf("the lease of ID %d runs out", i+1) }, to)
		case j.place == expired:
			it.place, it.holder, it.ender, it.enderAt = ready, 0, 0, 0
			next(func() string { return fmt.Sprintf("ID %d is taken back", i+1) }, to)
		}
	}
	if s.marked && !s.fell {
		to := *s
		to.fallBack()
		next(func() string { return "the server falls back" }, to)
	}
}

// broken says what no state may be.
func (s *state) broken(r Rules) string {
	for i, p := range s.producers {
		if p.effects > 1 {
			return fmt.Sprintf("I6: the effect of job %d is doubled", i+1)
		}
		if p.asking == told && !p.lost && !s.present(i) && (!r.Forgets || p.ends == 0) {
			return fmt.Sprintf("I1: job %d was accepted and is lost", i+1)
		}
	}
	for _, j := range s.server.jobs {
		if j.place == ended && s.producers[j.work-1].effects == 0 && !s.awaits(r, j.work) {
			return fmt.Sprintf("I6: job %d is completed, and its effect is lost", j.work)
		}
	}
	return ""
}

// awaits tells whether a worker will still come to a job's effect, of rules by which it comes after the ack.
func (s *state) awaits(r Rules, work uint8) bool {
	for _, w := range s.workers {
		if r.AckFirst && w.work == work {
			return true
		}
	}
	return false
}

func (m message) title() string {
	switch m.verb {
	case count:
		return fmt.Sprintf("question of producer %d for an ID", m.from)
	case enqueue:
		return fmt.Sprintf("enqueue of job %d", m.from)
	case claim:
		return fmt.Sprintf("claim %d", m.nonce)
	}
	return fmt.Sprintf("%s of claim %d, attempt %d,", m.verb, m.nonce, m.attempt)
}
