package protocol

// Bounds of a state, so that it is one block of memory that can be compared.
const (
	mostJobs    = 2
	mostIDs     = 3
	mostWorkers = 2
	mostSent    = 10
)

// place is where a job is in the server.
type place uint8

const (
	absent  place = iota
	ready         // it waits
	leased        // an attempt holds it
	expired       // an attempt holds it, and its lease has run out: the next claim takes it back
	ended
)

// job is a job in the server, by its ID.
type job struct {
	place    place
	work     uint8 // which job of a producer's it is, from 1
	attempts uint8
	holder   uint8 // nonce of the claim that holds it. Only rules with nonces look at it; the checks always do
	ender    uint8 // nonce of the attempt that ended last, if it told so itself
	enderAt  uint8 // number of that attempt
}

func (j job) held() bool { return j.place == leased || j.place == expired }

// server is all that the server knows, and loses when it falls back.
type server struct {
	jobs    [mostIDs]job           // by ID, from 1
	counter uint8                  // of IDs
	last    [2 * mostWorkers]uint8 // the last claim of each worker that was answered, by its nonce; see worker.name
}

// verb is what a message asks for.
type verb uint8

const (
	none verb = iota
	count
	enqueue
	claim
	renew
	ack
	fail
)

// message is a call on its way. It stays where it could arrive once more.
type message struct {
	verb    verb
	from    uint8 // name of a worker, or work of a producer
	nonce   uint8 // of the claim, or of the claim that made the attempt
	attempt uint8
	id      uint8
	arrived bool // once at least
}

// step is what a worker does next, or waits for.
type step uint8

const (
	idle     step = iota
	claiming      // waits for the answer to its claim
	holding       // has a job
	inside        // receipt and effect are written, not committed
	between       // the first of two transactions is committed
	ending        // waits for the answer to an end
	acked         // of AckFirst: the effect is to come
)

// worker is one process, and the one that comes after it.
type worker struct {
	step    step
	again   uint8 // 1: it crashed, and this is the one that came after
	nonce   uint8 // of its claim
	id      uint8 // of the job it has
	work    uint8
	attempt uint8
}

// asking is what a producer waits for.
type asking uint8

const (
	counting asking = iota // waits for an ID
	sending                // waits for the answer to its enqueue
	told
)

// producer has one job to enqueue.
type producer struct {
	asking  asking
	id      uint8
	lost    bool  // the server fell back to before the job was there
	effects uint8 // committed
	ends    uint8 // how often the job came to its end
}

// state is the whole world.
type state struct {
	server    server
	mark      server // where the server may fall back to
	marked    bool
	fell      bool
	producers [mostJobs]producer
	workers   [mostWorkers]worker
	receipts  [mostIDs]bool // by ID; committed
	sent      [mostSent]message
	used      used
}

// used counts what the bounds allow only so often.
type used struct{ claims, copies, expiries, failures, renewals uint8 }

// name tells a worker from the one before it.
func (s *state) name(w int) uint8 { return uint8(w) + mostWorkers*s.workers[w].again }

// send puts a message on its way.
func (s *state) send(m message) {
	for i := range s.sent {
		if s.sent[i].verb == none {
			s.sent[i] = m
			return
		}
	}
	panic("protocol: more messages on their way than a state has room for")
}

// tidy brings messages into one order, and drops those that nobody can notice any more, so that states which mean the same are
// the same.
func (s *state) tidy(r Rules) {
	out := s.sent[:0]
	for _, m := range s.sent {
		if m.verb != none && (!m.arrived || int(s.used.copies) < r.Copies) {
			out = append(out, m)
		}
	}
	for i := len(out); i < mostSent; i++ {
		s.sent[i] = message{}
	}
	for i := 1; i < len(out); i++ {
		for k := i; k > 0 && out[k].before(out[k-1]); k-- {
			out[k], out[k-1] = out[k-1], out[k]
		}
	}
}

func (m message) before(o message) bool {
	a := [...]uint8{uint8(m.verb), m.from, m.nonce, m.attempt, m.id}
	b := [...]uint8{uint8(o.verb), o.from, o.nonce, o.attempt, o.id}
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return !m.arrived && o.arrived
}
