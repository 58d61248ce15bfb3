package main

import (
	"context"
	"fmt"
	"time"

	"github.com/waybillhq/waybill"
)

const amount = 10

// play is one case: a way to work, and the point at which its first worker dies.
type play struct {
	name string
	way  string
	die  point
	run  func(*stage, context.Context, play, account) (line, error)
}

func plays() []play {
	queue, list := (*stage).onQueue, (*stage).onList
	return []play{
		{"receipt, killed after the claim", wayOnce, claimed, queue},
		{"receipt, killed between commit and settle", wayOnce, committed, queue},
		{"no receipt, killed between commit and settle", wayNoReceipt, committed, queue},
		{"receipt committed before the effect, killed between", wayReceiptFirst, between, queue},
		{"receipt committed after the effect, killed between", wayReceiptLast, between, queue},
		{"RPOP, killed after it", wayPop, claimed, list},
		{"removed from the processing list first, killed before the effect", wayAckFirst, between, list},
		{"removed by value by a late worker, the next one killed", wayLate, between, (*stage).onListLate},
	}
}

// runAll plays all cases, and gives the lines of those that came through.
func (s *stage) runAll(ctx context.Context) ([]line, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop() // ends the workers of a case that broke off
	var lines []line
	for i, p := range plays() {
		a := account{s.db, s.dialect, fmt.Sprintf("total-%s-%d", s.run, i+1)}
		if err := a.create(ctx); err != nil {
			return lines, err
		}
		l, err := p.run(s, ctx, p, a)
		if err == nil {
			l.total, l.effects, err = a.read(ctx)
		}
		if err != nil {
			return lines, fmt.Errorf("%s: %w", p.name, err)
		}
		l.name = p.name
		lines = append(lines, l)
	}
	return lines, nil
}

// onQueue: a worker of Waybill gets the job and dies, and a second one is started.
func (s *stage) onQueue(ctx context.Context, p play, a account) (line, error) {
	var l line
	if _, err := addToTotal.On(a.name).Enqueue(ctx, s.client, add{amount}, waybill.ID("add-ten")); err != nil {
		return l, err
	}
	first, err := s.start(ctx, orders{p.way, a.name, p.die})
	if err != nil {
		return l, err
	}
	if err := first.wait(); err != nil {
		return l, err
	}
	if l.afterKill, err = s.inQueue(ctx, a.name); err != nil {
		return l, err
	}
	second, err := s.start(ctx, orders{p.way, a.name, nowhere})
	if err != nil {
		return l, err
	}
	defer func() {
		_ = second.cmd.Process.Kill()
		_ = second.cmd.Wait()
	}()
	stats, err := s.untilDone(ctx, a.name)
	if err != nil {
		return l, err
	}
	l.deliveries = stats.Deliveries
	l.atEnd, err = s.inQueue(ctx, a.name)
	return l, err
}

// untilDone waits until no job is live.
func (s *stage) untilDone(ctx context.Context, queue string) (waybill.QueueStats, error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		stats, err := s.client.Queue(queue).Stats(ctx)
		if err != nil || stats.Live() == 0 {
			return stats, err
		}
		select {
		case <-ctx.Done():
			return stats, fmt.Errorf("the job is not done: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// inQueue is what the queue holds.
func (s *stage) inQueue(ctx context.Context, queue string) (string, error) {
	stats, err := s.client.Queue(queue).Stats(ctx)
	switch {
	case err != nil:
		return "", err
	case stats.Live() > 0:
		return fmt.Sprintf("%d job, %d active", stats.Live(), stats.Active), nil
	}
	return fmt.Sprintf("no job, %d completed", stats.Completed), nil
}
