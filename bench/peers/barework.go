package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"
)

// delivery is a claimed job of the bare layout.
type delivery struct {
	member  string
	payload []byte
}

// shift is one run of the bare layout's worker: loops that claim, handlers, loops that settle.
type shift struct {
	*bare
	todo chan delivery
	over chan string // lease members of what was handled
	mu   sync.Mutex
	errs []error
}

func (b *bare) work(ctx context.Context, o workOptions) error {
	s := &shift{bare: b, todo: make(chan delivery, bareBatch), over: make(chan string, 2*bareBatch+o.concurrency)}
	calls := context.WithoutCancel(ctx) // what was claimed is settled
	var claiming, handling, settling sync.WaitGroup
	for range bareLoops {
		claiming.Go(func() { s.failed(s.claimLoop(ctx, calls)) })
		settling.Go(func() { s.failed(s.settleLoop(calls)) })
	}
	for range o.concurrency {
		handling.Go(func() {
			for d := range s.todo {
				o.handle(d.payload)
				s.over <- d.member
			}
		})
	}
	claiming.Wait()
	close(s.todo)
	handling.Wait()
	close(s.over)
	settling.Wait()
	return errors.Join(s.errs...)
}

func (s *shift) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
}

func (s *shift) claimLoop(ctx, calls context.Context) error {
	tick := time.NewTicker(bareEmpty)
	defer tick.Stop()
	for ctx.Err() == nil {
		got, err := s.claim(calls)
		if err != nil {
			return err
		}
		for _, d := range got {
			s.todo <- d
		}
		if len(got) == 0 {
			<-tick.C
		}
	}
	return nil
}

func (s *shift) claim(ctx context.Context) ([]delivery, error) {
	until := strconv.FormatInt(time.Now().Add(bareLease).UnixMilli(), 10)
	reply, err := s.claims.EvalSha(ctx, s.rdb, []string{bareReady, bareLeases}, bareRecords, bareBatch, until).StringSlice()
	if err != nil {
		return nil, err
	}
	out := make([]delivery, len(reply)/2)
	for i := range out {
		out[i] = delivery{reply[2*i], []byte(reply[2*i+1])}
	}
	return out, nil
}

// settleLoop goes on after an error, so that no handler waits for ever; the account tells.
func (s *shift) settleLoop(ctx context.Context) error {
	var errs error
	for first := range s.over {
		members := gather(first, s.over)
		args := make([]any, 1, 1+len(members))
		args[0] = bareRecords
		for _, m := range members {
			args = append(args, m)
		}
		n, err := s.settles.EvalSha(ctx, s.rdb, []string{bareLeases}, args...).Int()
		errs = errors.Join(errs, expect("settled", n, len(members), err))
	}
	return errs
}
