// Package effects holds the tests that kill real worker processes at every boundary of an effect that is to happen once,
// on each database, and count effects and receipts afterwards. The process that is killed is the program in worker: it
// watches its own statements and calls from outside of the product, and kills itself with SIGKILL.
package effects

// Step is a point in an attempt at which its worker may be killed.
type Step string

// The steps of an attempt, in their order.
const (
	Claimed    Step = "after the claim"
	Begun      Step = "transaction begun"
	Entered    Step = "receipt inserted"
	Written    Step = "effect written"
	Committing Step = "before commit"
	Committed  Step = "after commit"
	Settling   Step = "before settle"
	Unanswered Step = "settle's reply dropped"
)

// Steps gives all, in order.
func Steps() []Step {
	return []Step{Claimed, Begun, Entered, Written, Committing, Committed, Settling, Unanswered}
}

// Build is how the worker's handler is made.
type Build string

// Builds. All but Whole are broken on purpose: the checks must find them out.
const (
	Whole        Build = ""              // receipt and effect in one transaction
	NoReceipt    Build = "no receipt"    // the effect alone
	ReceiptFirst Build = "receipt first" // the receipt in a transaction of its own, before the effect's
	ReceiptLast  Build = "receipt last"  // likewise, after it
)

// Pgx as a driver stands for package pgxreceipt in place of database/sql.
const Pgx = "pgxreceipt"

// Orders are what a worker is told, as JSON in its only argument.
type Orders struct {
	Redis, Queue         string // URL, name
	Driver, DSN, Dialect string // Driver: of database/sql, or Pgx
	Build                Build
	Die                  Step // at which a job's first attempt is killed; "" = none is
	LeaseMS              int64
	Settle               []string // digests of the script settle; to make them takes a sixth of a worker's time
}

// Death is what a worker says on its standard output, as JSON, right before it kills itself.
type Death struct {
	Job     string
	Attempt int
	Steps   []Step // that the attempt has come to
}

// Args are the payload of every job here.
type Args struct{ N int }

// Kind of every job here.
const Kind = "effect.write"
