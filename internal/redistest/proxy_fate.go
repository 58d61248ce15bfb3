package redistest

import "time"

// Request is one call that passes a proxy.
type Request struct {
	// Verb is that of a script which Verbs named, else the command's name in lower case.
	Verb string
	Args [][]byte // all words, the command's name first
	Raw  []byte   // the frame as it came; not to be changed
	Conn int      // of the client, from 1
	N    int      // of this verb, from 1, on this proxy

	// Reply is the frame that came back. It is nil before.
	Reply []byte
}

// Fate is what becomes of a request. Requests of the same connection that came before it get their replies first, except
// where HalfOpen or Reset say otherwise; those behind one whose connection is cut are not sent on.
type Fate int

// Fates.
const (
	Pass        Fate = iota
	DropRequest      // it is not sent on; the connection is cut
	DropReply        // it is carried out; the reply is not given; the connection is cut
	CutRequest       // half of its frame is sent on; then both sides are cut
	CutReply         // half of the reply's frame is given; then both sides are cut
	HalfOpen         // from now on nothing passes on this connection, and it is not closed
	Reset            // it is not sent on; the client's side is reset (on a unix socket: closed), at once
	Late             // as DropRequest, but the frame is kept for Deliver
	Again            // it passes, and a copy is kept for Deliver
)

func (f Fate) String() string {
	return [...]string{
		"pass", "drop request", "drop reply", "cut request", "cut reply", "half-open", "reset", "late", "again",
	}[f]
}

// When says at which point a request waits.
type When int

// Points.
const (
	Written  When = iota // it is read from the client, and not sent on yet
	Executed             // the server's reply is here, and not given yet
)

func (w When) String() string { return [...]string{"written", "executed"}[w] }

// rules are what a proxy is told to do; each may be nil. They are called one at a time.
type rules struct {
	decide func(Request) Fate
	hold   func(Request, When) <-chan struct{}
	delay  func(Request) time.Duration
}

// Decide sets what becomes of each request; nil lets all pass. decide is called for one request at a time, and must not
// wait; it may call the proxy's methods.
func (p *Proxy) Decide(decide func(Request) Fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules.decide = decide
}

// Hold sets where requests wait: until the channel that hold gives is closed; a nil channel does not wait. It is asked
// at Written, before Decide is, and at Executed. What waits at Written is sent on in the end though its client died
// meanwhile, as what stands in a socket is; not where its connection was cut. hold must not wait itself.
func (p *Proxy) Hold(hold func(Request, When) <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules.hold = hold
}

// Delay sets how long each request waits before it is sent on. delay must not wait itself.
func (p *Proxy) Delay(delay func(Request) time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules.delay = delay
}

func (p *Proxy) now() rules {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rules
}

func (p *Proxy) askHold(r Request, w When) <-chan struct{} {
	p.asking.Lock()
	defer p.asking.Unlock()
	if hold := p.now().hold; hold != nil {
		return hold(r, w)
	}
	return nil
}

func (p *Proxy) askFate(r Request) (Fate, time.Duration) {
	p.asking.Lock()
	defer p.asking.Unlock()
	now, fate, wait := p.now(), Pass, time.Duration(0)
	if now.decide != nil {
		fate = now.decide(r)
	}
	if now.delay != nil {
		wait = now.delay(r)
	}
	return fate, wait
}
