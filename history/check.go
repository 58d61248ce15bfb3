package history

import (
	"errors"
	"fmt"
	"io"
)

// ErrUnreadable is the error of a history with a line that Check does not know: a *LineError.
var ErrUnreadable = errors.New("history can't be read")

// LineError says which line can't be read.
type LineError struct {
	Line int64 // from 1
	Why  string
}

func (e *LineError) Error() string {
	return fmt.Sprintf("line %d: %s: %v", e.Line, e.Why, ErrUnreadable)
}

// Unwrap gives ErrUnreadable.
func (e *LineError) Unwrap() error { return ErrUnreadable }

// promises are the invariants, in order. Each looks at a whole history.
var promises = [...]struct {
	name, text string
	look       func(*run, finder)
}{
	{"I1", "each accepted job stands in one place, or has ended", eachJob(conserved)},
	{"I2", "nothing is delivered that was not enqueued, and it is what was sent", eachJob(noGhost)},
	{"I3", "what was refused is not delivered", eachJob(refusedIsNot)},
	{"I4", "an attempt has one holder, and a stale one changes nothing", eachJob(oneHolder)},
	{"I5", "a job ends once, and stands as it ended", eachJob(oneEnd)},
	{"I6", "an effect is there once, with its receipt", oneEffect},
	{"I7", "an ID is taken once, for one payload", eachJob(oneIdentity)},
	{"I8", "no more jobs are live than the capacity allows", bounded},
	{"I9", "the counts add up", countsAddUp},
	{"I10", "no job is delivered before it is due", eachJob(notEarly)},
	{"I12", "a row that was committed is enqueued, one that was rolled back is not", eachJob(rowsMatch)},
	{"I13", "each subscription gets each event", eachSubscription},
	{"I14", "a wait tells how the job ended, and in time", eachJob(waitsTell)},
	{"I16", "nothing is out of place, and nothing is left behind", tidy},
}

// Check reads a history and holds it against the promises. The lines may be in any order; a history is of one run.
//
// What a server forgot that was killed under a grade other than "always" is no violation, within LossMS of its death. All
// else must be accounted for: a job that ended without retention is known by the settled window alone, which is to be longer
// than the run where ends may go unrecorded.
//
// It keeps some 200 bytes a line in memory. Errors: ErrUnreadable, and those of r.
func Check(r io.Reader) (Report, error) {
	h, err := read(r)
	if err != nil {
		return Report{}, err
	}
	report := h.count()
	for _, p := range promises {
		i := Invariant{Name: p.name, Text: p.text, Violations: []Violation{}}
		p.look(h, finder{&i})
		report.Invariants = append(report.Invariants, i)
	}
	report.Lost = h.lost
	report.Forgotten = h.forgotten
	report.Unexpected = h.unexpected
	return report, nil
}

// eachJob looks at one job after another.
func eachJob(look func(*run, *job, finder)) func(*run, finder) {
	return func(h *run, f finder) {
		for _, j := range h.jobs {
			look(h, j, f)
		}
	}
}
