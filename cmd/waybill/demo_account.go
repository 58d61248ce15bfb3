package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/waybillhq/waybill"
)

// account prints what became of all jobs, by the queue's counts and by what the handlers wrote, and
// fails where that does not add up.
func (d *demo) account(ctx context.Context) error {
	s, err := d.client.Queue(demoQueue).Stats(ctx)
	if err != nil {
		return err
	}
	all := journal{}
	for _, w := range d.workers {
		j, err := readJournal(w.journal)
		if err != nil {
			return err
		}
		all = append(all, j...)
	}
	done := all.count("done")
	lost := 0
	for i := range demoJobs {
		if done[fmt.Sprintf("greet-%03d", i+1)] == 0 {
			lost++
		}
	}
	fmt.Fprintf(d.stdout, "\nThe account, by the queue's own counts:\n"+
		"  %3d accepted   = %d completed + %d dead + %d cancelled + %d deleted + %d live\n"+
		"  %3d deliveries = %d completed + %d failures + %d crashes + %d snoozes + %d released + %d active\n\n",
		s.Accepted, s.Completed, s.Died, s.Cancelled, s.Deleted, s.Live(),
		s.Deliveries, s.Completed, s.Failures, s.Crashes, s.Snoozes, s.Released, s.Active)
	fmt.Fprintf(d.stdout, "By what the handlers wrote: %d jobs, %d done, %d lost.\n"+
		"%d were delivered again because their worker was killed, %d because their handler failed at first.\n",
		demoJobs, len(done), lost, s.Crashes, s.Failures)
	if again := doneTwice(done); again > 0 {
		fmt.Fprintf(d.stdout, "%d were done when their worker was killed, but not yet settled, and so done again: at least once.\n", again)
	}
	if lost > 0 {
		return errors.New("jobs are lost")
	}
	return adds(s)
}

// adds checks the account.
func adds(s waybill.QueueStats) error {
	switch {
	case s.Accepted+s.Requeued != s.Completed+s.Died+s.Cancelled+s.Deleted+s.Live():
		return errors.New("the account of jobs does not add up")
	case s.Deliveries != s.Completed+s.Failures+s.Crashes+s.Snoozes+s.Released+s.Active:
		return errors.New("the account of deliveries does not add up")
	case s.Accepted != demoJobs || s.Completed != demoJobs || s.Duplicates != demoTwice:
		return errors.New("these are not the jobs that were sent")
	}
	return nil
}

func doneTwice(done map[string]int) int {
	n := 0
	for _, times := range done {
		if times > 1 {
			n++
		}
	}
	return n
}
