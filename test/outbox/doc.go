// Package outboxtest holds the tests that kill real relay processes, and Redis itself, while jobs go through an outbox, on
// each database, and count afterwards: what is committed is accepted once and no more, and ends. The processes are the
// program in worker; one that is to die at a boundary kills itself there with SIGKILL.
package outboxtest

// Role is what a process does.
type Role string

// The roles.
const (
	Relay Role = "relay"
	Work  Role = "work"
)

// Build is how a relay is made.
type Build string

// Builds. All but Whole are broken on purpose: the checks must find them out.
const (
	Whole     Build = ""           // outbox.Relay
	Cursor    Build = "cursor"     // it sends what comes after the last row that it saw, by number
	MarkFirst Build = "mark first" // it commits that rows are sent, and then sends them
)

// Boundary is a point at which a relay may be killed.
type Boundary string

// The boundaries. All but ReplyDropped are the names that package outbox gives to package boundary.
const (
	RowsLocked     Boundary = "rows locked"
	ReplyDropped   Boundary = "reply dropped"
	AnswerRead     Boundary = "answer read"
	RowsMarked     Boundary = "rows marked"
	RowsCommitted  Boundary = "rows committed"
	WordsRead      Boundary = "words read"
	WordsMarked    Boundary = "words marked"
	WordsCommitted Boundary = "words committed"
	WordsRemoved   Boundary = "words removed"
)

// Boundaries gives all, in their order.
func Boundaries() []Boundary {
	return []Boundary{
		RowsLocked, ReplyDropped, AnswerRead, RowsMarked, RowsCommitted, WordsRead, WordsMarked, WordsCommitted, WordsRemoved,
	}
}

// OfWords says whether a boundary lies on the way back, of what became of jobs.
func (b Boundary) OfWords() bool {
	return b == WordsRead || b == WordsMarked || b == WordsCommitted || b == WordsRemoved
}

// Pgx as a driver stands for package pgxoutbox in place of database/sql.
const Pgx = "pgxoutbox"

// Orders are what a process is told, as JSON in its only argument.
type Orders struct {
	Role                 Role
	Redis, Queue         string // URL, name
	Driver, DSN, Dialect string // Driver: of database/sql, or Pgx

	Build          Build
	PollMS, ReadMS int64    // of a relay
	Die            Boundary // at which the relay is killed; "" = none
	Chance         int      // it is killed at one of so many boundaries, by Seed; 0 = none
	Seed           uint64
	Enqueue        []string // digests of the script enqueue

	Receipts bool // a worker writes an effect of each job, with a receipt
	LeaseMS  int64
}

// Said is a line that a process writes to its standard output, as JSON. One of its fields is set.
type Said struct {
	Up   bool     // a relay has come to its first boundary
	At   Boundary // a relay is there and kills itself
	Lost string   // a relay was told that Redis lost data
	Idle bool     // a broken relay found nothing to send
	Job  string   // a worker was given this job
}
