package redistest

// listening are the commands whose answers look like messages. With RESP3 they come as pushes; with RESP2 messages come
// as arrays. Each is taken as answered by the first.
var listening = map[string]bool{
	"subscribe": true, "psubscribe": true, "ssubscribe": true, "unsubscribe": true, "punsubscribe": true, "sunsubscribe": true,
}

// messages are the first words of what a server sends unasked where the client speaks RESP2.
var messages = map[string]bool{"message": true, "pmessage": true, "smessage": true}

// back gives replies to the client until the server ends. The client is told so, unless the connection is silent.
func (s *session) back() {
	out := newFrames(s.server)
	for {
		raw, err := out.next()
		if err != nil {
			break
		}
		if !s.give(raw) {
			return
		}
	}
	if !s.isSilent() {
		s.close(false)
	}
}

// give does with one frame of the server what the fate of its request says; false where none is given behind it.
func (s *session) give(raw []byte) bool {
	c, answers := s.answered(raw)
	if !answers {
		return s.write(raw)
	}
	c.Reply = raw
	if !s.wait(s.p.askHold(c.Request, Executed)) {
		return false
	}
	switch {
	case s.isSilent():
		s.done()
		return true
	case c.fate == DropReply:
		s.p.count(c.fate)
		s.close(false)
		return false
	case c.fate == CutReply:
		s.write(raw[:len(raw)/2])
		s.p.count(c.fate)
		s.close(false)
		return false
	}
	if !s.write(raw) {
		return false
	}
	s.done()
	return true
}

// write writes to the client, once the proxy isn't paused. A client that is gone is not awaited.
func (s *session) write(raw []byte) bool {
	if !s.wait(s.p.gate()) {
		return false
	}
	if !s.isSilent() {
		_, _ = s.client.Write(raw)
	}
	return true
}

// answered is the request that a frame answers; ok is false where it answers none, as a message does.
func (s *session) answered(raw []byte) (c call, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		return call{}, false
	}
	c = s.pending[0]
	if raw[0] == '>' {
		return c, listening[c.Verb] && first(raw) == c.Verb
	}
	if raw[0] == '*' && s.listens {
		word := first(raw)
		return c, !messages[word] && (!listening[word] || word == c.Verb)
	}
	return c, true
}

// done takes the request that was answered from those that wait.
func (s *session) done() {
	s.mu.Lock()
	s.pending = s.pending[1:]
	var next call
	due := len(s.pending) > 0 && !s.pending[0].sent
	if due {
		next = s.pending[0]
	}
	s.mu.Unlock()
	if due {
		s.final(next)
	}
}
