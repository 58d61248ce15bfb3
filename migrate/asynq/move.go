package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/hibiken/asynq"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
)

// pageSize is how many tasks are read, and in doubt where the program is killed, at a time.
const pageSize = 100

// errLeft: the output says what, and why.
var errLeft = errors.New("not all was moved: see above, and run it again")

// mover moves tasks from asynq's queues to Waybill's.
type mover struct {
	inspector        *asynq.Inspector
	client           *waybill.Client
	queues, kinds    renamed
	archived, dryRun bool
	out              io.Writer
}

// all moves the queues one after another.
func (m *mover) all(ctx context.Context) error {
	names := slices.Sorted(maps.Keys(m.queues))
	if len(names) == 0 {
		var err error
		if names, err = m.inspector.Queues(); err != nil {
			return fmt.Errorf("queues of asynq: %w", err)
		}
	}
	left := false
	for _, name := range names {
		t := newTransfer(m, name)
		err := t.run(ctx)
		rest, told := t.tell()
		if err := errors.Join(err, told); err != nil {
			return err
		}
		left = left || rest
	}
	if left && !m.dryRun {
		return errLeft
	}
	return nil
}

// run moves until a whole pass finds nothing to move: scheduled tasks may fall due, and active ones fail, meanwhile.
func (t *transfer) run(ctx context.Context) error {
	if err := record.CheckName("queue", t.into); err != nil {
		return fmt.Errorf("%w: give --queue %s=NAME", err, t.name)
	}
	info, err := t.inspector.GetQueueInfo(t.name)
	if err == nil && !info.Paused && !t.dryRun {
		err = t.inspector.PauseQueue(t.name)
	}
	if err != nil {
		return fmt.Errorf("pause queue %s of asynq: %w", t.name, err)
	}
	i := t.inspector
	lists := []list{i.ListPendingTasks, i.ListRetryTasks, i.ListScheduledTasks} // first what is to run first
	if t.archived {
		lists = append(lists, i.ListArchivedTasks)
	}
	for again := true; again; {
		before := t.moved
		for _, l := range lists {
			if err := t.drain(ctx, l); err != nil {
				return err
			}
		}
		again = t.moved > before && !t.dryRun
	}
	return nil
}

type list func(queue string, o ...asynq.ListOption) ([]*asynq.TaskInfo, error)

// drain moves the tasks of one list. What is moved leaves the list, so the next tasks stand on the same page; only a
// page of which everything stays is passed over.
func (t *transfer) drain(ctx context.Context, tasks list) error {
	for page := 1; ctx.Err() == nil; {
		read, err := tasks(t.name, asynq.PageSize(pageSize), asynq.Page(page))
		if err != nil || len(read) == 0 {
			return err
		}
		before := t.moved
		if err := t.move(ctx, read); err != nil {
			return err
		}
		if t.moved == before || t.dryRun {
			page++
		}
	}
	return ctx.Err()
}

// move brings tasks to Waybill, then deletes those in asynq that Waybill holds.
func (t *transfer) move(ctx context.Context, tasks []*asynq.TaskInfo) error {
	var jobs []waybill.JobInfo
	var fit []*asynq.TaskInfo
	for _, task := range tasks {
		switch job, err := t.job(task); {
		case err != nil:
			t.leave(task, err)
		case t.dryRun:
			t.took(task, waybill.OutcomeAccepted)
		default:
			jobs, fit = append(jobs, job), append(fit, task)
		}
	}
	said, err := t.to.Restore(ctx, jobs)
	if said == nil {
		return err
	}
	for i, s := range said {
		if err := t.settle(fit[i], s); err != nil {
			return err
		}
	}
	return nil
}

// settle does what Waybill's answer to one task asks for.
func (t *transfer) settle(task *asynq.TaskInfo, s waybill.Enqueued) error {
	if errors.Is(s.Err, waybill.ErrInvalid) || errors.Is(s.Err, waybill.ErrConflict) {
		t.leave(task, s.Err)
		return nil
	}
	if s.Err != nil { // full, or Redis is away: those behind would fare no better, and must not overtake
		return s.Err
	}
	err := t.inspector.DeleteTask(t.name, task.ID)
	if err != nil && !errors.Is(err, asynq.ErrTaskNotFound) {
		return fmt.Errorf("task %s is a job now, and asynq does not delete it (if it is active somebody resumed the queue, "+
			"and it runs twice): %w", task.ID, err)
	}
	t.took(task, s.Outcome)
	return nil
}
