package protocol

import "fmt"

// do gives what a worker may do next by itself.
func (s *state) do(r Rules, w int, next tell) {
	me := s.workers[w]
	if me.step == idle {
		return // it has no claim left
	}
	switch {
	case me.step == holding && !r.AckFirst, me.step == acked:
		s.begin(r, w, next)
	case me.step == inside, me.step == between:
		s.commit(r, w, next)
	}
	if me.step == holding || me.step == inside {
		s.fails(r, w, next)
	}
	s.renews(r, w, next)
	s.crash(r, w, next)
}

// claims sends the next claim of an idle worker.
func (s *state) claims(r Rules, w int) {
	if int(s.used.claims) >= r.Claims {
		return
	}
	s.used.claims++
	me := &s.workers[w]
	me.step, me.nonce = claiming, s.used.claims
	s.send(message{verb: claim, from: s.name(w), nonce: me.nonce})
}

// begin enters the receipt, or finds one. A rival's that is not committed is waited for.
func (s *state) begin(r Rules, w int, next tell) {
	me := s.workers[w]
	for other, o := range s.workers {
		if other != w && o.step == inside && o.id == me.id {
			return
		}
	}
	to := *s
	it := &to.workers[w]
	if s.receipts[me.id-1] {
		to.apply(r, w)
		next(func() string {
			return fmt.Sprintf("worker %d finds a receipt of ID %d, and applies nothing", w+1, me.id)
		}, to)
		return
	}
	switch r.Receipts {
	case Together:
		it.step = inside
		next(func() string {
			return fmt.Sprintf("worker %d writes receipt and effect of ID %d in one transaction", w+1, me.id)
		}, to)
	case ReceiptAfter:
		it.step = between
		to.producers[me.work-1].effects++
		next(func() string {
			return fmt.Sprintf("worker %d finds no receipt of ID %d, and commits its effect", w+1, me.id)
		}, to)
	case ReceiptBefore:
		it.step = between
		to.receipts[me.id-1] = true
		next(func() string { return fmt.Sprintf("worker %d finds no receipt of ID %d, and commits one", w+1, me.id) }, to)
	}
}

func (s *state) commit(r Rules, w int, next tell) {
	me := s.workers[w]
	to := *s
	to.apply(r, w)
	if me.step == inside || r.Receipts == ReceiptBefore {
		to.producers[me.work-1].effects++
	}
	if me.step == inside || r.Receipts == ReceiptAfter {
		to.receipts[me.id-1] = true
	}
	next(func() string { return fmt.Sprintf("worker %d commits %s", w+1, r.Receipts) }, to)
}

// apply is where the effect is done: the ack is sent, unless it was first.
func (s *state) apply(r Rules, w int) {
	if r.AckFirst {
		s.rest(r, w)
		return
	}
	s.ends(w, ack)
}

// rest is where a worker has no job any more.
func (s *state) rest(r Rules, w int) {
	s.workers[w] = worker{again: s.workers[w].again}
	s.claims(r, w)
}

// ends sends how the attempt ended.
func (s *state) ends(w int, v verb) {
	me := &s.workers[w]
	me.step = ending
	s.send(message{verb: v, from: s.name(w), nonce: me.nonce, attempt: me.attempt, id: me.id})
}

// fails ends an attempt before its effect: what is not committed is rolled back.
func (s *state) fails(r Rules, w int, next tell) {
	if int(s.used.failures) >= r.Failures {
		return
	}
	to := *s
	to.used.failures++
	to.ends(w, fail)
	next(func() string { return fmt.Sprintf("worker %d fails, and sends it", w+1) }, to)
}

func (s *state) renews(r Rules, w int, next tell) {
	me := s.workers[w]
	if me.step == claiming || int(s.used.renewals) >= r.Renewals {
		return
	}
	to := *s
	to.used.renewals++
	to.send(message{verb: renew, from: to.name(w), nonce: me.nonce, attempt: me.attempt, id: me.id})
	next(func() string {
		return fmt.Sprintf("worker %d sends a renewal of claim %d, attempt %d", w+1, me.nonce, me.attempt)
	}, to)
}

// crash kills a worker, and starts one after it: the database rolls back what was open.
func (s *state) crash(r Rules, w int, next tell) {
	if int(s.workers[w].again) >= r.Crashes {
		return
	}
	to := *s
	to.workers[w].again = 1
	to.rest(r, w)
	next(func() string { return fmt.Sprintf("worker %d is killed; another starts", w+1) }, to)
}

// hear gives a worker the answer to its call, if it still waits for it.
func (s *state) hear(r Rules, m message, a answer) {
	for w := range s.workers {
		me := &s.workers[w]
		if s.name(w) != m.from || me.nonce != m.nonce {
			continue
		}
		switch {
		case me.step == claiming && m.verb == claim && a.id > 0:
			me.step, me.id, me.work, me.attempt = holding, a.id, a.job.work, a.job.attempts
			if r.AckFirst {
				s.ends(w, ack)
			}
		case me.step == claiming && m.verb == claim:
			s.rest(r, w)
		case me.step == ending && m.verb == ack && r.AckFirst && a.word != "stale":
			me.step = acked
		case me.step == ending && (m.verb == ack || m.verb == fail):
			s.rest(r, w)
		}
		return
	}
}
