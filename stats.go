package waybill

import (
	"encoding/json"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// QueueStats is how a queue stands: counts of now, then counters since its creation, which add
// up: Accepted + Requeued = Completed + Died + Cancelled + Deleted + Live().
type QueueStats struct {
	Queue     string
	Now       time.Time // when it was read, by the server's clock
	Ready     int64     // claimable now; includes Urgent
	Urgent    int64     // of Ready: with a priority other than 0
	Scheduled int64     // due later: delayed or snoozed
	Retry     int64     // due later: after a failure or crash
	Parked    int64     // set aside by kind: no worker so far knew the kind or had room for it
	Active    int64     // under a lease
	Spilled   int64     // kept aside until there is room
	Dead      int64
	Kept      int64 // ended and still readable
	Workers   int64 // processes that claimed within the last 30 s
	Capacity  int64 // live jobs; Unlimited where there is no bound
	High      int64 // most live jobs ever, without the spilled; counted while there is a capacity
	// OldestReady is how long ago the oldest ready job was enqueued; negative where there is none. Parked jobs wait
	// too: watch Ready and Parked together where kinds have a Concurrency.
	OldestReady time.Duration
	PausedBy    string // "" = not paused
	// HorizonNamed and HorizonGenerated are how far back a repeated enqueue of an ended job is known,
	// for given and for generated IDs.
	HorizonNamed, HorizonGenerated time.Duration

	// Since the queue's creation. Accepted includes spilled jobs; Deleted counts live ones only.
	Accepted, Requeued, Completed, Died, Cancelled, Deleted int64
	// How deliveries ended, and settlements that were refused because the lease was lost.
	Deliveries, Failures, Crashes, Snoozes, Released, Stale int64
	// Enqueues that added nothing. Rejected counts each ask of a job that waits for room.
	Duplicates, Conflicts, Rejected int64
	// What became of effects, as attempts told it by Attempt.Count: applied, suppressed as duplicates, and refused because
	// the receipt was of other work. An attempt that was killed before its end was recorded told nothing.
	Effects, Suppressed, Mismatches int64
	DeadCut                         int64 // dead jobs forgotten over the limits of count and age
	Orphans                         int64 // leases and claimable elements found without a record: data was lost
}

// Live is the number of jobs that have not ended.
func (s QueueStats) Live() int64 { return store.Stats(s).Live() }

// In is the number of jobs in a state. Of completed and cancelled ones, as far as they are kept, only the sum is known: it
// is given for each of the two.
func (s QueueStats) In(state State) int64 {
	return map[State]int64{
		StateReady: s.Ready, StateScheduled: s.Scheduled, StateRetry: s.Retry, StateParked: s.Parked, StateSpilled: s.Spilled,
		StateActive: s.Active, StateDead: s.Dead, StateCompleted: s.Kept, StateCancelled: s.Kept,
		State(store.EndedState): s.Kept,
	}[state]
}

// MarshalJSON gives the object that command line and HTTP API print.
func (s QueueStats) MarshalJSON() ([]byte, error) {
	o := statsJSON{
		Queue: s.Queue, At: utc(s.Now), Ready: s.Ready, Urgent: s.Urgent, Scheduled: s.Scheduled, Retry: s.Retry,
		Parked: s.Parked, Active: s.Active, Spilled: s.Spilled, Dead: s.Dead, Kept: s.Kept, Workers: s.Workers,
		Paused: s.PausedBy != "", PausedBy: orNull(s.PausedBy),
		HorizonMS: s.HorizonNamed.Milliseconds(), HorizonGeneratedMS: s.HorizonGenerated.Milliseconds(),
		Accepted: s.Accepted, Requeued: s.Requeued, Completed: s.Completed, Died: s.Died, Cancelled: s.Cancelled,
		Deleted: s.Deleted, Deliveries: s.Deliveries, Failures: s.Failures, Crashes: s.Crashes, Snoozes: s.Snoozes,
		Released: s.Released, Stale: s.Stale, Duplicates: s.Duplicates, Conflicts: s.Conflicts,
		Rejected: s.Rejected, DeadCut: s.DeadCut, Orphans: s.Orphans,
		Effects: s.Effects, Suppressed: s.Suppressed, Mismatches: s.Mismatches,
	}
	if s.Capacity != Unlimited {
		o.Capacity, o.High = &s.Capacity, &s.High
	}
	if s.OldestReady >= 0 {
		ms := s.OldestReady.Milliseconds()
		o.OldestReadyMS = &ms
	}
	return json.Marshal(o)
}

type statsJSON struct {
	Queue              string  `json:"queue"`
	At                 *string `json:"at"`
	Ready              int64   `json:"ready"`
	Urgent             int64   `json:"urgent"`
	Scheduled          int64   `json:"scheduled"`
	Retry              int64   `json:"retry"`
	Parked             int64   `json:"parked"`
	Active             int64   `json:"active"`
	Spilled            int64   `json:"spilled"`
	Dead               int64   `json:"dead"`
	Kept               int64   `json:"kept"`
	Workers            int64   `json:"workers"`
	Capacity           *int64  `json:"capacity"`
	OldestReadyMS      *int64  `json:"oldest_ready_ms"`
	Paused             bool    `json:"paused"`
	PausedBy           *string `json:"paused_by"`
	HorizonMS          int64   `json:"dedupe_horizon_ms"`
	HorizonGeneratedMS int64   `json:"dedupe_horizon_generated_ms"`
	Accepted           int64   `json:"accepted"`
	Requeued           int64   `json:"requeued"`
	Completed          int64   `json:"completed"`
	Died               int64   `json:"died"`
	Cancelled          int64   `json:"cancelled"`
	Deleted            int64   `json:"deleted"`
	Deliveries         int64   `json:"deliveries"`
	Failures           int64   `json:"failures"`
	Crashes            int64   `json:"crashes"`
	Snoozes            int64   `json:"snoozes"`
	Released           int64   `json:"released"`
	Stale              int64   `json:"stale"`
	Duplicates         int64   `json:"duplicates"`
	Conflicts          int64   `json:"conflicts"`
	Rejected           int64   `json:"rejected"`
	DeadCut            int64   `json:"dead_cut"`
	Orphans            int64   `json:"orphans"`
	High               *int64  `json:"high"`
	Effects            int64   `json:"effects"`
	Suppressed         int64   `json:"suppressed"`
	Mismatches         int64   `json:"mismatches"`
}
