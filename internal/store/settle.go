package store

import (
	"context"
	"fmt"
	"time"
)

// End is how an attempt ends, in the settle script's words.
type End string

// Ends of an attempt. Ack and Complete both finish the job; Complete keeps it and its result.
const (
	Ack      End = "ack"
	Complete End = "complete"
	Retry    End = "retry"
	Snooze   End = "snooze"
	Release  End = "release"
	Dead     End = "dead"
	Cancel   End = "cancel"
)

// Effects counts what became of the effects of one attempt. The zero value counts nothing, and costs nothing.
type Effects struct {
	Applied, Suppressed, Mismatches int // from 0 to MaxEffects
}

// MaxEffects bounds each count of one attempt: the script takes nine digits.
const MaxEffects = 999_999_999

// Settlement is the end of one attempt.
type Settlement struct {
	Member    string // Delivery.Member
	Keep      string // record.Record.Keep
	End       End
	Delay     time.Duration // Retry, Snooze
	Retention time.Duration // Complete, Cancel
	Result    []byte        // Complete; nil = none
	Dropped   bool          // Complete: there was a result, too large to keep
	Line      string        // Retry, Dead: an Error's line; Cancel: the reason
	Effects   Effects       // added to the queue's counters where the verdict is Done or CancelledNow
}

// word is the end as an argument, with the counts behind it; of most it is a constant, for the sake of memory.
func (s Settlement) word() any {
	if e := s.Effects; e != (Effects{}) {
		return fmt.Sprintf("%s %d %d %d", s.End, within(e.Applied), within(e.Suppressed), within(e.Mismatches))
	}
	if s.End == Ack {
		return "ack"
	}
	return string(s.End)
}

// within is a count that the script takes: one that it refused would be sent for ever.
func within(n int) int { return min(max(n, 0), MaxEffects) }

// Verdict is what a settlement or renewal found.
type Verdict string

// Verdicts. Done, Already and CancelledNow mean that the attempt's end is recorded.
const (
	Done         Verdict = "done"
	Already      Verdict = "already"   // by this attempt, before
	Stale        Verdict = "stale"     // another attempt holds or held the job: the lease was lost
	Gone         Verdict = "gone"      // nothing is known of the job any more
	CancelledNow Verdict = "cancelled" // settle: ended instead of going back; renew: held, but a cancel was asked for
	Held         Verdict = "held"
	Lost         Verdict = "lost"
)

// Results are stored behind one byte that tells whether they were kept.
const (
	resultKept    = '='
	resultDropped = '!'
)

// Settle ends attempts and answers each, in order. Where a call brings no answer the verdicts of
// its items are "" and the first such error is returned: send those again.
func (q *Queue) Settle(ctx context.Context, items []Settlement) ([]Verdict, error) {
	out := make([]Verdict, len(items))
	var first error
	split(len(items), func(i int) int { return len(items[i].Result) + len(items[i].Line) }, func(from, to int) {
		if err := q.settle(ctx, items[from:to], out[from:to]); err != nil && first == nil {
			first = err
		}
	})
	return out, first
}

func (q *Queue) settle(ctx context.Context, items []Settlement, out []Verdict) error {
	args := make([]any, 0, 3*len(items))
	for _, it := range items {
		args = append(args, it.Member, it.word(), it.Keep)
		if it.End != Ack {
			args = append(args, milliseconds(it.Delay), milliseconds(it.Retention), it.stored(), it.Line)
		}
	}
	reply, _, err := q.call(ctx, "settle", args...)
	return verdicts(reply, err, out)
}

func (s Settlement) stored() []byte {
	switch {
	case s.Dropped:
		return []byte{resultDropped}
	case s.Result != nil:
		return append([]byte{resultKept}, s.Result...)
	}
	return nil
}

// Renew extends leases by their members and answers each, in order; as Settle where there is no answer.
func (q *Queue) Renew(ctx context.Context, lease time.Duration, members []string) ([]Verdict, error) {
	out := make([]Verdict, len(members))
	var first error
	split(len(members), func(int) int { return 0 }, func(from, to int) {
		args := make([]any, 1, 1+to-from)
		args[0] = milliseconds(lease)
		for _, m := range members[from:to] {
			args = append(args, m)
		}
		reply, _, err := q.call(ctx, "renew", args...)
		if err := verdicts(reply, err, out[from:to]); err != nil && first == nil {
			first = err
		}
	})
	return out, first
}

func verdicts(reply []any, err error, out []Verdict) error {
	if err != nil {
		return err
	}
	said, err := words(reply, 1, len(out))
	for i := range said {
		out[i] = Verdict(said[i])
	}
	return err
}
