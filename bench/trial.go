package main

import (
	"context"
)

// measure takes a load through each of the subjects, each on a server of its own. They take
// turns block by block, so that what else the machine does hits all of them. It gives each
// subject's results, one a block.
func measure(ctx context.Context, l load, subjects []newSubject) ([][]result, error) {
	trials := make([]*trial, 0, len(subjects))
	defer func() {
		for _, t := range trials {
			t.server.close()
		}
	}()
	for _, s := range subjects {
		t, err := newTrial(ctx, l, s)
		if err != nil {
			return nil, err
		}
		trials = append(trials, t)
	}
	for _, part := range []func(*trial, context.Context, int) error{(*trial).fill, (*trial).drain} {
		if err := takeTurns(ctx, l.jobs/block, trials, part); err != nil {
			return nil, err
		}
	}
	out := make([][]result, len(trials))
	for i, t := range trials {
		out[i] = t.blocks
	}
	return out, nil
}

func takeTurns(ctx context.Context, blocks int, trials []*trial, part func(*trial, context.Context, int) error) error {
	for b := range blocks {
		for _, t := range trials {
			if err := part(t, ctx, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// trial is a load under way on one server.
type trial struct {
	batch  int
	server *server
	meter  meter
	on     subject
	empty  float64  // memory before the first job
	blocks []result // one a block
}

// newTrial starts a server and takes one block through it, so that scripts are loaded and every key
// that a queue in use has exists.
func newTrial(ctx context.Context, l load, subject newSubject) (*trial, error) {
	s, err := startServer(ctx)
	if err != nil {
		return nil, err
	}
	t := &trial{batch: l.batch, server: s, meter: meter{s.rdb}}
	if err := t.prepare(ctx, l.jobs/block, subject); err != nil {
		s.close()
		return nil, err
	}
	return t, nil
}

func (t *trial) prepare(ctx context.Context, blocks int, subject newSubject) error {
	var err error
	if t.on, err = subject(ctx, t.server.rdb); err != nil {
		return err
	}
	t.blocks = make([]result, blocks)
	if err := t.fill(ctx, 0); err != nil {
		return err
	}
	if err := t.drain(ctx, 0); err != nil {
		return err
	}
	t.empty, err = t.meter.memory(ctx)
	return err
}

// fill enqueues a block. After the last one it weighs what waits.
func (t *trial) fill(ctx context.Context, b int) error {
	jobs := newJobs(block)
	var err error
	t.blocks[b].enqueue, err = t.cost(ctx, func(ctx context.Context, n int) error {
		some := jobs[:n]
		jobs = jobs[n:]
		return t.on.enqueue(ctx, some)
	})
	if err != nil || b+1 < len(t.blocks) {
		return err
	}
	used, err := t.meter.memory(ctx)
	for i := range t.blocks {
		t.blocks[i].memory = (used - t.empty) / float64(block*len(t.blocks))
	}
	return err
}

// drain claims and settles a block.
func (t *trial) drain(ctx context.Context, b int) error {
	var err error
	if t.blocks[b].claim, err = t.cost(ctx, t.on.claim); err != nil {
		return err
	}
	t.blocks[b].settle, err = t.cost(ctx, t.on.settle)
	return err
}

// cost does something to a block, batch by batch, and tells what the server used a job.
func (t *trial) cost(ctx context.Context, do func(context.Context, int) error) (usage, error) {
	u, err := t.meter.measure(ctx, func() error {
		for left := block; left > 0; left -= t.batch {
			if err := do(ctx, min(left, t.batch)); err != nil {
				return err
			}
		}
		return nil
	})
	return u.over(block), err
}
