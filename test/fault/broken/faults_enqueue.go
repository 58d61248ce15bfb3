package broken

// enqueueFaults add jobs otherwise than promised.
func enqueueFaults() []Fault {
	return []Fault{
		{
			Name: "accepted-before-answer", Breaks: "an enqueue is told to be accepted while its call is on the way: what a power cut takes was promised",
			Edits: []Edit{{
				"internal/store/enqueue.go", "		_, _ = q.enqueue(ctx, batch{jobs[from:to], policy(spill), 3}, out[from:to])\n", `		b, told := batch{jobs[from:to], policy(spill), 3}, out[from:to]
		if IS_BROKEN {
			go func() { _, _ = q.enqueue(context.WithoutCancel(ctx), b, make([]Enqueued, to-from)) }()
			for i := range told {
				told[i].Outcome = Accepted
			}
			return
		}
		_, _ = q.enqueue(ctx, b, told)
`,
			}}, Caught: []Cell{cut("lost")},
		},
		{
			Name: "duplicate-of-anything", Breaks: "an ID that is known answers duplicate, whatever the payload: new work is dropped",
			Edits: []Edit{{
				lua("enqueue"), "  if old[1] ~= string.sub(blob, 3, 13) then return 'conflict' end\n", "",
			}}, Caught: []Cell{scripts()},
		},
		{
			Name: "capacity-read-before", Breaks: "the producer reads how full the queue is, and the script adds without a look",
			Edits: []Edit{
				{lua("enqueue"), "local capacity = tonumber(meta[2])\n", "local capacity = nil\n"},
				{"internal/store/enqueue.go", "	reply, unsure, err := q.call(ctx, verb, args...)\n", `	if IS_BROKEN {
		s, err := q.Stats(ctx)
		if err == nil && s.Capacity >= 0 && s.Live() >= s.Capacity {
			for i := range out {
				out[i] = Enqueued{Outcome: Full, Depth: s.Live(), Capacity: s.Capacity}
			}
			return nil, nil
		}
	}
	reply, unsure, err := q.call(ctx, verb, args...)
`},
			}, Caught: []Cell{scripts()},
		},
		{
			Name: "retries-take-no-room", Breaks: "jobs that wait to be tried again do not count against the capacity",
			Edits: []Edit{{
				lua("head"), "local others = {URGENT, SUSPECTS, PARKED, DUE, RETRY, OVERFLOW}", "local others = {URGENT, SUSPECTS, PARKED, DUE, OVERFLOW}",
			}}, Caught: []Cell{scripts()},
		},
		{
			Name: "requeue-over-capacity", Breaks: "dead jobs are made ready again without a look at the capacity",
			Edits: []Edit{{
				lua("requeue"), "  if capacity and live >= capacity then return 'full' end\n", "",
			}}, Caught: []Cell{scripts()},
		},
		{
			Name: "deleted-is-forgotten", Breaks: "a deleted job is not remembered: a late repeat of its enqueue brings it back",
			Edits:  []Edit{{lua("delete"), "    remember(id, keep, 'd', '-')\n", "\n"}},
			Caught: []Cell{scripts()},
		},
		{
			Name: "told-unread", Breaks: "words for an outbox are taken away though they changed since they were read",
			Edits:  []Edit{{lua("told"), "if value == ARGV[5 + 2 * i] then", "if value then"}},
			Caught: []Cell{facts("./internal/store", "^TestOutboxRead$")},
		},
	}
}
