package protocol

// Tokens is what an attempt proves with that the job is its own.
type Tokens uint8

// Kinds of tokens.
const (
	Nonces   Tokens = iota // the attempt's number, and what only this claim has: worker and number of the claim
	Counters               // the attempt's number alone
	NoTokens               // nothing is compared: any end and any renewal of a job that is leased is taken
)

// IDs is where the ID of a job comes from.
type IDs uint8

// Sources of IDs.
const (
	OwnIDs     IDs = iota // made by the producer: at random, or from the job's cause. No other job has it
	CounterIDs            // from a counter in the server, asked for first
)

// Receipts is how an effect is committed.
type Receipts uint8

// Ways to commit an effect and its receipt.
const (
	Together      Receipts = iota // in one transaction
	ReceiptAfter                  // in two: the effect first
	ReceiptBefore                 // in two: the receipt first
)

// String is what the commit at last brings.
func (r Receipts) String() string {
	return [...]string{"receipt and effect", "the receipt", "the effect"}[r]
}

// Rules are a protocol, and the bounds within which it is explored. The zero value is the protocol that Waybill follows, in
// which nothing goes wrong.
type Rules struct {
	Tokens   Tokens
	IDs      IDs
	Receipts Receipts
	AckFirst bool // the job is acked before its effect
	Forgets  bool // a job that has ended is not remembered, so a late copy of its enqueue makes it anew

	Jobs      int // that producers have, 1 or 2
	Claims    int // that workers send, all together; at most 7
	Crashes   int // of each worker, 0 or 1: it comes back as another, and its messages may still arrive
	Copies    int // messages that arrive once more, at any later time
	Expiries  int // leases that run out
	Failures  int // attempts that fail
	Renewals  int // that are sent
	Rollbacks int // 0 or 1: the server falls back to a moment that it was at before
}

// Ours are the rules that Waybill follows, within bounds in which each kind of fault is played once.
func Ours() Rules {
	return Rules{
		Jobs: 1, Claims: 3, Crashes: 1, Copies: 1, Expiries: 1, Failures: 1, Renewals: 1, Rollbacks: 1,
	}
}
