package protocol

import "fmt"

// answer is what the server says.
type answer struct {
	word    string // done, already, stale, held, lost, ok, nothing
	id      uint8  // of the job that was claimed, or the number that was counted
	job     job    // that was claimed
	against string // what the call broke
}

// arrive carries a message out. pick is the job that a claim takes, by ID; 0 = none is ready.
func (s *state) arrive(r Rules, m message, pick uint8) answer {
	switch m.verb {
	case count:
		s.server.counter++
		return answer{word: "ok", id: s.server.counter}
	case enqueue:
		return s.add(m)
	case claim:
		return s.lease(r, m, pick)
	case renew:
		return s.renewed(r, m)
	case ack, fail:
		return s.settle(r, m)
	}
	return answer{}
}

// add answers "ok" for a new job and for one that is known: all jobs are of equal kind and payload, so no fingerprint tells
// them apart.
func (s *state) add(m message) answer {
	j := &s.server.jobs[m.id-1]
	if j.place == absent {
		*j = job{place: ready, work: m.from}
	}
	a := answer{word: "ok"}
	if j.work != m.from {
		a.against = fmt.Sprintf("I7: job %d is told to be known, and is suppressed: its ID is that of job %d", m.from, j.work)
	}
	return a
}

func (s *state) lease(r Rules, m message, pick uint8) answer {
	last := &s.server.last[m.from]
	switch {
	case m.nonce < *last:
		return answer{word: "nothing"}
	case m.nonce == *last:
		for i, j := range s.server.jobs {
			if j.held() && j.holder == m.nonce {
				return answer{word: "ok", id: uint8(i + 1), job: j}
			}
		}
		return answer{word: "nothing"}
	}
	*last = m.nonce
	if pick == 0 {
		return answer{word: "nothing"}
	}
	j := &s.server.jobs[pick-1]
	j.place, j.holder, j.ender, j.enderAt = leased, m.nonce, 0, 0
	j.attempts++
	return answer{word: "ok", id: pick, job: *j}
}

// proves tells whether the rules take a message for the holder's.
func (r Rules) proves(m message, attempt, nonce uint8) bool {
	switch r.Tokens {
	case NoTokens:
		return true
	case Counters:
		return m.attempt == attempt
	}
	return m.attempt == attempt && m.nonce == nonce
}

func (s *state) renewed(r Rules, m message) answer {
	j := &s.server.jobs[m.id-1]
	if !j.held() || !r.proves(m, j.attempts, j.holder) {
		return answer{word: "lost"}
	}
	j.place = leased
	return answer{word: "held", against: j.doubted(m)}
}

// doubted says so where a message is taken that is not the holder's.
func (j job) doubted(m message) string {
	if m.nonce == j.holder {
		return ""
	}
	return fmt.Sprintf("I4: two hold one job: claim %d has it, and the %s of claim %d is taken", j.holder, m.verb, m.nonce)
}

func (s *state) settle(r Rules, m message) answer {
	j := &s.server.jobs[m.id-1]
	switch {
	case j.held() && r.proves(m, j.attempts, j.holder):
	case j.enderAt > 0 && r.Tokens != NoTokens && r.proves(m, j.enderAt, j.ender):
		a := answer{word: "already"}
		if m.nonce != j.ender {
			a.against = fmt.Sprintf("I4: claim %d ended the job, and claim %d is told that it did", j.ender, m.nonce)
		}
		return a
	default:
		return answer{word: "stale"}
	}
	a := answer{word: "done", against: j.doubted(m)}
	j.place, j.holder, j.ender, j.enderAt = ready, 0, m.nonce, m.attempt
	if m.verb == ack {
		j.place = ended
		p := &s.producers[j.work-1]
		p.ends++
		if p.ends > 1 && !s.fell && a.against == "" {
			a.against = fmt.Sprintf("I5: job %d comes to its end twice", j.work)
		}
		if r.Forgets {
			*j = job{}
		}
	}
	return a
}

// fallBack makes the server forget all since the mark.
func (s *state) fallBack() {
	s.server, s.mark, s.fell = s.mark, server{}, true
	for i := range s.producers {
		p := &s.producers[i]
		p.lost = p.lost || p.asking == told && !s.present(i)
	}
}

// present tells whether the server knows a producer's job.
func (s *state) present(i int) bool {
	p := s.producers[i]
	return s.server.jobs[p.id-1].place != absent && s.server.jobs[p.id-1].work == uint8(i+1)
}

func (v verb) String() string {
	return [...]string{"nothing", "count", "enqueue", "claim", "renewal", "ack", "failure"}[v]
}
