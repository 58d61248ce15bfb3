package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/waybillhq/waybill"
)

// bulkObject is the object of a change of many jobs.
type bulkObject struct {
	Queue   string  `json:"queue"`
	Change  string  `json:"change"`
	DryRun  bool    `json:"dry_run"`
	Looked  int64   `json:"looked"`
	Matched int64   `json:"matched"`
	Changed int64   `json:"changed"`
	Refused int64   `json:"refused"`
	Why     *string `json:"why"` // the first one was refused
	Error   *string `json:"error"`
	Message *string `json:"message"`
}

// bulkDone tells what was done. err is what ended it before its time.
func (a *app) bulkDone(ctx context.Context, b bulk, r waybill.BulkResult, err error) error {
	switch {
	case err != nil && ctx.Err() != nil && b.flags.dryRun:
		err = fmt.Errorf("%w: nothing was changed", errInterrupted)
	case err != nil && ctx.Err() != nil:
		err = fmt.Errorf("%w: %s %s; the same command goes on where it stopped", errInterrupted, b.jobs(r.Changed), b.did())
	case err != nil && r.Changed > 0:
		a.say("%s %s until it stopped; the same command goes on there", b.jobs(r.Changed), b.did())
	case err == nil && r.Refused > 0:
		err = &refusedError{n: r.Refused, why: r.Why}
	}
	if a.json {
		return a.object(b.object(r, err), err)
	}
	if _, whole := errors.AsType[*refusedError](err); err != nil && !whole {
		return err
	}
	text := b.jobs(r.Changed) + " " + b.did()
	if b.flags.dryRun {
		text = b.jobs(r.Matched) + " would be " + b.did()
	}
	if _, failed := fmt.Fprintln(a.stdout, text); failed != nil {
		return failed
	}
	return err
}

// object is the object of what was done.
func (b bulk) object(r waybill.BulkResult, err error) bulkObject {
	o := bulkObject{
		Queue: b.queue, Change: b.name, DryRun: b.flags.dryRun, Looked: r.Looked, Matched: r.Matched, Changed: r.Changed,
		Refused: r.Refused,
	}
	if r.Why != nil {
		_, o.Why = wordsOf(r.Why)
	}
	if err != nil {
		o.Error, o.Message = wordsOf(err)
	}
	return o
}

// refusedError says that jobs were left as they were. It unwraps to why the first one was.
type refusedError struct {
	n   int64
	why error
}

func (e *refusedError) Error() string {
	return grouped(e.n, "job") + " left as found, the first since " + e.why.Error()
}

func (e *refusedError) Unwrap() error { return e.why }
