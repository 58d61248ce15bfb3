package main

import (
	"context"
	"fmt"
	"time"
)

// patience is how long one step of a worker may take.
const patience = 30 * time.Second

// onList: a worker of a plain list gets the job and dies, and a second one looks for it.
func (s *stage) onList(ctx context.Context, p play, a account) (line, error) {
	var l line
	if err := s.rdb.LPush(ctx, pending(a.name), payload).Err(); err != nil {
		return l, err
	}
	for _, die := range []point{p.die, nowhere} {
		worker, err := s.start(ctx, orders{p.way, a.name, die})
		if err != nil {
			return l, err
		}
		if err := worker.wait(); err != nil {
			return l, err
		}
		l.deliveries += worker.deliveries()
		l.afterKill = l.atEnd
		if l.atEnd, err = s.inList(ctx, a.name); err != nil {
			return l, err
		}
	}
	return l, nil
}

// onListLate: a worker is held up with the job, so the job is put back, as is done after a time; a second worker takes it.
// The first one goes on and takes away the record, which is the second one's by now. The second one is killed, and a third
// one looks for the job.
func (s *stage) onListLate(ctx context.Context, p play, a account) (line, error) {
	var l line
	if err := s.rdb.LPush(ctx, pending(a.name), payload).Err(); err != nil {
		return l, err
	}
	first, err := s.startHeld(ctx, orders{p.way, a.name, nowhere})
	if err != nil {
		return l, err
	}
	if err := s.rdb.LMove(ctx, processing(a.name), pending(a.name), "RIGHT", "LEFT").Err(); err != nil {
		return l, err
	}
	second, err := s.startHeld(ctx, orders{p.way, a.name, p.die})
	if err != nil {
		return l, err
	}
	for _, w := range []*process{first, second} { // Redis wakes the one that has waited longer
		if err := s.rdb.RPush(ctx, wakes(a.name), "go on").Err(); err != nil {
			return l, err
		}
		if err := w.wait(); err != nil {
			return l, err
		}
		l.deliveries += w.deliveries()
	}
	if l.afterKill, err = s.inList(ctx, a.name); err != nil {
		return l, err
	}
	third, err := s.start(ctx, orders{p.way, a.name, nowhere})
	if err != nil {
		return l, err
	}
	if err := third.wait(); err != nil {
		return l, err
	}
	l.deliveries += third.deliveries()
	l.atEnd, err = s.inList(ctx, a.name)
	return l, err
}

// startHeld starts a worker, and waits until it has the job.
func (s *stage) startHeld(ctx context.Context, o orders) (*process, error) {
	p, err := s.start(ctx, o)
	if err != nil {
		return nil, err
	}
	return p, s.rdb.BLPop(ctx, patience, holds(o.queue)).Err()
}

// inList is what is left of the job in Redis.
func (s *stage) inList(ctx context.Context, queue string) (string, error) {
	waiting, err := s.rdb.LLen(ctx, pending(queue)).Result()
	if err != nil {
		return "", err
	}
	held, err := s.rdb.LLen(ctx, processing(queue)).Result()
	if err != nil {
		return "", err
	}
	if waiting+held == 0 {
		return "nothing", nil
	}
	return fmt.Sprintf("%d waiting, %d in the processing list", waiting, held), nil
}
