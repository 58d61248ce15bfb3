package history

// Report is what a history shows. Jobs are counted by queue and ID; an event counts as a job of "topic:NAME".
type Report struct {
	Lines int64    `json:"lines"`
	Seeds []uint64 `json:"seeds"`

	Jobs      int64 `json:"jobs"`      // that somebody tried to enqueue, or that stand in the account
	Accepted  int64 `json:"accepted"`  // of Jobs: the answer said so, or their row was committed
	Rejected  int64 `json:"rejected"`  // of Jobs: certainly not taken, by anybody
	Unknown   int64 `json:"unknown"`   // of Jobs: nobody was told what became of them
	Recovered int64 `json:"recovered"` // of Unknown: turned out to have been taken

	Lost       int64 `json:"lost"`       // accepted, and gone although nothing allows it
	Forgotten  int64 `json:"forgotten"`  // accepted, and gone as the grade of the run allows it
	Unexpected int64 `json:"unexpected"` // delivered, though nobody enqueued them

	Deliveries  int64 `json:"deliveries"`  // handlers that began
	Redelivered int64 `json:"redelivered"` // of Deliveries: not the first of its job
	Effects     int64 `json:"effects"`
	Receipts    int64 `json:"receipts"`
	Doubled     int64 `json:"doubled"` // of Effects: beyond the first of their key

	Faults  map[string]int64 `json:"faults"`  // that fired, by code
	Unfired int64            `json:"unfired"` // faults that were planned and did not fire
	Kills   int64            `json:"kills"`   // of Faults: those whose code has the word "killed"

	Invariants []Invariant `json:"invariants"`
}

// Invariant is one promise, and how it was kept.
type Invariant struct {
	Name string `json:"name"` // I1 to I16
	Text string `json:"text"`
	// Looked is how many things were held against it; 0: the history has nothing that it speaks of, so that it shows nothing.
	Looked   int64 `json:"looked"`
	Violated int64 `json:"violated"`
	// Violations are the first 20.
	Violations []Violation `json:"violations"`
}

// Violation is a promise that was not kept.
type Violation struct {
	Queue string `json:"queue"`
	Job   string `json:"job"`
	Text  string `json:"text"`
	Lines []Line `json:"lines"` // that show it, at most 12
}

// Line is one of the history's, in short.
type Line struct {
	File   string `json:"file"`   // "" = the one that was read; set by those who read several as one
	Number int64  `json:"number"` // from 1, in its file
	Text   string `json:"text"`
}

// Clean tells whether all promises were kept, as far as the history shows.
func (r Report) Clean() bool {
	for _, i := range r.Invariants {
		if i.Violated > 0 {
			return false
		}
	}
	return true
}

// Invariant is one by its name; nil where there is none of that name.
func (r Report) Invariant(name string) *Invariant {
	for i := range r.Invariants {
		if r.Invariants[i].Name == name {
			return &r.Invariants[i]
		}
	}
	return nil
}

const (
	mostShown = 20 // violations of an invariant
	mostLines = 12 // lines of a violation
)

// finder gathers what is found against one invariant.
type finder struct{ *Invariant }

// found notes a violation.
func (f finder) found(v Violation, by ...*fact) {
	f.Violated++
	if len(f.Violations) == mostShown {
		return
	}
	v.Lines = []Line{}
	for _, line := range by[:min(len(by), mostLines)] {
		v.Lines = append(v.Lines, Line{Number: line.line, Text: line.String()})
	}
	f.Violations = append(f.Violations, v)
}
