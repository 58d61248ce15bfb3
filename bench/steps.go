package main

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// step is a part of what the store does, and how to do without it.
type step struct {
	name     string
	cuts     []cut
	uncapped bool // leave the capacity unset
}

// steps are tried one at a time.
var steps = []step{
	{name: "settled window", cuts: []cut{
		{"enqueue", "if call('EXISTS', unpack(windows)) > 0 then", "if false then"},
		{"settle", "  entries[e + 1], entries[e + 2] = id, sub(keep, 3) .. 'c' .. tokens[k]\n", ""},
		{"settle", "  if #generated > 0 then call('HSET', window('g'), unpack(generated)) end\n", ""},
	}},
	{name: "run entries", cuts: []cut{
		{"pick", "local entries = call('HMGET', RUNS, unpack(ids))", "local entries = {}"},
		{"pick", "  runs[k + 1], runs[k + 2] = id, attempt.run\n", ""},
		{"claim", "  call('HSET', RUNS, unpack(runs))\n", ""},
		{"ended", "  call('HDEL', RUNS, unpack(ids))\n", ""},
	}},
	{name: "claims entry", cuts: []cut{
		{"claim", "  call('HSET', CLAIMS, WORKER, NUMBER .. ' ' .. now .. '\\n' .. table.concat(els, '\\n'))\n", ""},
	}},
	{name: "capacity", uncapped: true},
	{name: "counters", cuts: []cut{
		{"head", "  if n ~= 0 then call('HINCRBY', STATS, name, n) end\n", ""},
	}},
	{name: "publish", cuts: []cut{
		{"settle", "  news[#news + 1] = table.concat(done, ' completed\\n') .. ' completed'\n", ""},
		{"ended", "  if #news > 0 then redis.pcall('PUBLISH', TAG .. 'ended', table.concat(news, '\\n')) end\n", ""},
	}},
	{name: "bell", cuts: []cut{
		{"head", "  if n == 0 then call('LPUSH', bell, '1') end\n", ""},
	}},
	{name: "upkeep", cuts: []cut{
		{"claim", "local first_lease = take_back_expired()\n", "local first_lease = math.huge\n"},
		{"claim", "local times = call('EXISTS', DUE, RETRY, OVERFLOW, DONE, DEAD) > 0", "local times = false"},
		{"claim", "if meta[5] then turn_both(meta[5], tonumber(meta[6] or 1000000)) end\n", ""},
	}},
	{name: "cancels, errors, progress", cuts: []cut{
		{"ended", "  if call('EXISTS', CANCELS, FAULTS, PROGRESS) > 0 then", "  if false then"},
	}},
	{name: "presence check", cuts: []cut{
		{"enqueue", "local present = call('EXISTS', unpack(names)) -- touches too", "local present = 1"},
	}},
}

// without makes the store with one part left out.
func (s step) without() newSubject {
	return func(ctx context.Context, rdb *redis.Client) (subject, error) {
		c := newCutter(s.cuts)
		rdb.AddHook(c)
		whole := newWaybill
		if s.uncapped {
			whole = newUncapped
		}
		on, err := whole(ctx, rdb)
		if err != nil {
			return nil, fmt.Errorf("without %s: %w", s.name, err)
		}
		return &lacking{subject: on, step: s, cutter: c}, nil
	}
}

func newUncapped(_ context.Context, rdb *redis.Client) (subject, error) { return openWaybill(rdb) }

// lacking is a subject without a part. It makes sure that all cuts were made.
type lacking struct {
	subject
	step   step
	cutter *cutter
}

func (l *lacking) enqueue(ctx context.Context, jobs []job) error {
	return l.wrap(l.subject.enqueue(ctx, jobs))
}

func (l *lacking) claim(ctx context.Context, n int) error {
	return l.wrap(l.subject.claim(ctx, n))
}

func (l *lacking) settle(ctx context.Context, n int) error {
	err := l.subject.settle(ctx, n)
	if err == nil {
		err = l.cutter.check()
	}
	return l.wrap(err)
}

func (l *lacking) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("without %s: %w", l.step.name, err)
	}
	return nil
}
