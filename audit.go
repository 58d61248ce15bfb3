package waybill

import "context"

// Finding is one thing that an audit found odd.
type Finding struct {
	// What it is: "unindexed" (a record in no index; repaired: ready again, in front), "left" (the record of an ended job
	// that would stay for ever; repaired: kept an hour), "orphan run" (counts of a job without record; repaired:
	// removed), "orphan element" (an index entry without its record; repaired: removed), "unrecorded lease" (repaired:
	// recorded), "ghosts M N" (M counted, N found; repaired: N), "newer" (a record of a newer format, which is left).
	What     string
	Item     string // job ID, index entry or lease
	Repaired bool
}

// Audit walks over all of the queue for what no call would leave behind: jobs that stand nowhere, entries without jobs.
// Only a Redis that lost data, or hands that changed its keys, leaves such things. With repair it mends them.
// It reads in bounded steps, while work goes on; jobs that move meanwhile are no finding. each is told of each finding,
// looked of how many entries were looked at so far, both on the caller's goroutine; nil = nobody.
// Errors: ErrUnavailable, ErrUnknown, ctx's error: begin again.
func (q *Queue) Audit(ctx context.Context, repair bool, each func(Finding), looked func(int64)) error {
	if q.err != nil {
		return q.err
	}
	a := q.q.Audit(repair)
	p := pace{}
	for done := false; !done; {
		p.begin()
		found, over, err := a.Step(ctx)
		for _, f := range found {
			if each != nil {
				each(Finding{What: f.What, Item: f.Item, Repaired: f.Mended})
			}
		}
		if err != nil {
			return err
		}
		if looked != nil {
			looked(a.Looked)
		}
		p.courtesy(ctx)
		done = over
	}
	return ctx.Err()
}
