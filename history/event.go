package history

// Op says what a line tells.
type Op string

// Lines of the clients, written as things happen.
const (
	// OpRun begins the history of a run: Seed, Commit, Note, Grade, LossMS, WindowMS, WaitMS.
	OpRun Op = "run"
	// OpEnqueue is an enqueue that was answered, or was given up: Queue, Job, Hash, Fingerprint, Outcome, Code (the outcome's
	// word, or that of the error); DelayMS. An event's queue is "topic:NAME". One with the code "asked" is written before
	// the call, with the outcome unknown, and counts only where no line of the same process, job and Begun tells the answer.
	OpEnqueue Op = "enqueue"
	// OpAttempt is a handler that begins: Queue, Job, Number, Token, Hash, ClaimedMS, DueMS, Event.
	OpAttempt Op = "attempt"
	// OpEnd is an attempt whose end was sent: Queue, Job, Number, Outcome (ok: it is recorded, fail: the lease was lost, or
	// nobody answered), Code (waybill.AttemptOutcome). Begun is when the handler returned, or when the
	// call was made, where that is known.
	OpEnd Op = "end"
	// OpWait is a wait that returned: Queue, Job, Outcome, Code (the state it told, or the word of the error); LateMS is by
	// how much it came back after the job's end, where that is known. Else the lines of the end tell.
	OpWait Op = "wait"
	// OpRow is a row of an outbox, or an event published through one: Queue, Job, Hash, Outcome (ok: its transaction was
	// committed, fail: rolled back, unknown: its commit was not answered).
	OpRow Op = "row"
	// OpRequeue, OpPromote, OpCancel and OpDelete are an operator's: Queue, Job, Outcome, Code.
	OpRequeue Op = "requeue"
	OpPromote Op = "promote"
	OpCancel  Op = "cancel"
	OpDelete  Op = "delete"
	// OpSample is a look at a queue under way: Queue, Live, Capacity.
	OpSample Op = "sample"
	// OpFault is a fault: Boundary (where it was played), Code (which), Outcome (ok: it fired there, with work in flight),
	// Begun and Done (when it began and was over; of a server that was killed, when it was alive last and when it was dead);
	// DelayMS of one whose Code begins with "clock": by how much the server's clock was set.
	// Codes that begin with "redis killed" allow the loss that the grade allows; one that begins with "clock" says that the
	// server's clock was set. Others are counted only.
	OpFault Op = "fault"
)

// Lines of the account, written when all has come to rest.
const (
	// OpSubscription is a subscription that stood before the first event: Queue (topic/subscription).
	OpSubscription Op = "subscription"
	// OpJob is a job as it stands in the end: Queue, Job, Code (its state), Token, Number (attempts), Failures, Crashes,
	// Snoozes, Requeues. Note is "window" where only the settled window knows it: there are no counts then.
	OpJob Op = "job"
	// OpEffect is one row of what handlers wrote: Queue (the receipts' scope), Job (the receipts' key), Token.
	OpEffect Op = "effect"
	// OpLedger says that what handlers of a queue wrote stands in the history: Queue (the receipts' scope). Each of its completed
	// jobs must have an effect then, and each effect an attempt, though there be no effect at all.
	OpLedger Op = "ledger"
	// OpReceipt is one receipt: Queue (scope), Job (key).
	OpReceipt Op = "receipt"
	// OpQueue is a queue's counters: Queue, Stats (as `waybill queue stats --json` prints them).
	OpQueue Op = "queue"
	// OpFinding is what the audit found out of place: Queue, Job, Code.
	OpFinding Op = "finding"
	// OpKeys is how many keys are left after a purge, and how many there were before anything: Keys, Base.
	OpKeys Op = "keys"
)

// Outcome is what became of a call.
type Outcome string

// Outcomes.
const (
	OK      Outcome = "ok"      // it was done, and told so
	Fail    Outcome = "fail"    // it was certainly not done
	Unknown Outcome = "unknown" // it was not answered
)

// Event is one line. Fields that an Op does not name are left out. Times in *MS are milliseconds since 1970 by the server's
// clock.
type Event struct {
	Op      Op     `json:"op"`
	Process string `json:"process,omitempty"`
	// Begun and Done are nanoseconds of the machine's monotonic clock, which all processes share: when a call was made, and
	// when it returned. What takes no time has Done alone.
	Begun int64 `json:"begun,omitempty"`
	Done  int64 `json:"done"`
	AtMS  int64 `json:"at_ms"` // Done, by this process's wall clock: for readers, no check goes by it

	Queue  string `json:"queue,omitempty"`
	Job    string `json:"job,omitempty"`
	Event  string `json:"event,omitempty"`
	Token  string `json:"token,omitempty"`
	Number int    `json:"number,omitempty"`
	Hash   string `json:"hash,omitempty"` // of kind, payload, headers and priority
	// Fingerprint is of kind and payload alone: what decides whether an ID is asked for again. "" = Hash does.
	Fingerprint string  `json:"fingerprint,omitempty"`
	Outcome     Outcome `json:"outcome,omitempty"`
	Code        string  `json:"code,omitempty"`

	ClaimedMS int64 `json:"claimed_ms,omitempty"`
	DueMS     int64 `json:"due_ms,omitempty"`
	DelayMS   int64 `json:"delay_ms,omitempty"`
	LateMS    int64 `json:"late_ms,omitempty"`

	Failures int `json:"failures,omitempty"`
	Crashes  int `json:"crashes,omitempty"`
	Snoozes  int `json:"snoozes,omitempty"`
	Requeues int `json:"requeues,omitempty"`

	Live     int64          `json:"live,omitempty"`
	Capacity int64          `json:"capacity,omitempty"`
	Keys     int64          `json:"keys,omitempty"`
	Base     int64          `json:"base,omitempty"`
	Stats    map[string]any `json:"stats,omitempty"`

	Boundary string `json:"boundary,omitempty"`
	Seed     uint64 `json:"seed,omitempty"`
	Commit   string `json:"commit,omitempty"`
	Note     string `json:"note,omitempty"`
	// Grade is what Redis keeps when it dies: "always", "everysec", "rdb" or "none" (nothing at all). LossMS is how long
	// before the death of a server what it answered may be lost; 0 with "always".
	Grade  string `json:"grade,omitempty"`
	LossMS int64  `json:"loss_ms,omitempty"`
	// WindowMS is how long an ended job is known at least, so that its ID is not taken again: until then the account must have
	// it. 0 = longer than the run as to its ID, and that a worker was told of its end suffices for the account.
	WindowMS int64 `json:"window_ms,omitempty"`
	// WaitMS is how late a wait may come back; 0 = no bound is checked.
	WaitMS int64 `json:"wait_ms,omitempty"`
}
