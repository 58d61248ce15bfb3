package broken

// endFaults lose or double the end of a job.
func endFaults() []Fault {
	return []Fault{
		{
			Name: "retry-is-lost", Breaks: "a job that is to be tried again is put nowhere",
			Edits: []Edit{{
				lua("settle"), "  call('ZADD', key, now + delay, el)\n", "  if outcome ~= 'retry' then call('ZADD', key, now + delay, el) end\n",
			}}, Caught: []Cell{scripts(), random(promise("I1", "I9", "I16"), "always"), cut("audit of")},
		},
		{
			Name: "result-for-ever", Breaks: "a result has no TTL",
			Edits: []Edit{{
				lua("settle"), "call('SET', result(id), value, 'PX', ttl)", "call('SET', result(id), value)",
			}}, Caught: []Cell{scripts()},
		},
		{
			Name: "window-too-short", Breaks: "the settled window turns at every claim: a late repeat of an enqueue runs again",
			Edits:  []Edit{{lua("turn"), "now < at + span and not", "now < at and not"}},
			Caught: []Cell{scripts()},
		},
		{
			Name: "ack-forgets", Breaks: "a job that is acked is not remembered: a late repeat of its enqueue runs again",
			Edits: []Edit{{
				lua("settle"), "  if #named > 0 then call('HSET', window('n'), unpack(named)) end\n", "",
			}}, Caught: []Cell{scripts()},
		},
		{
			Name: "settle-needs-memory", Breaks: "where memory is full no attempt can end",
			Edits: []Edit{{
				"internal/store/script.go", `	{name: "settle", parts: []string{"ended"}, flag: "allow-oom"},`,
				`	{name: "settle", parts: []string{"ended"}, flag: map[bool]string{false: "allow-oom"}[IS_BROKEN]},`,
			}}, Caught: []Cell{conformance("full_memory")},
		},
		{
			Name: "ack-before-handler", Breaks: "a job is acked when its handler begins: a worker that dies loses it",
			Edits: []Edit{{
				"internal/runner/run.go", "		result, err := r.handle(a)\n", `		if IS_BROKEN {
			_, _ = r.o.Queue.Settle(context.Background(), []store.Settlement{{Member: a.member, Keep: a.Rec.Keep, End: Ack}})
		}
		result, err := r.handle(a)
`,
			}}, Caught: []Cell{crash(promise("I6"), "receipts on sqlite: killed, where: transaction begun")},
		},
		{
			Name: "notice-is-trusted", Breaks: "a waiter looks when it begins and when a notice comes, and never else",
			Edits: []Edit{{
				"internal/await/await.go", "		if now.Sub(j.looked) >= every {\n", "		if now.Sub(j.looked) >= every && !IS_BROKEN {\n",
			}}, Caught: []Cell{facts("./internal/await", "^TestWaits$")},
		},
		{
			Name: "notice-before-end", Breaks: "the notice of an end is published before the end is written, and not after it",
			Edits: []Edit{
				{
					lua("settle"), "announce()\nlocal reply = answers(words)\n", "local reply = answers(words)\n",
				},
				{"internal/store/settle.go", "	reply, _, err := q.call(ctx, \"settle\", args...)\n", `	if IS_BROKEN {
		for _, it := range items {
			_, id, _ := strings.Cut(it.Member, ":")
			_ = q.store.rdb.Publish(ctx, q.tag+string(EndedChannel), id+" completed").Err()
		}
	}
	reply, _, err := q.call(ctx, "settle", args...)
`},
				{"internal/store/settle.go", "	\"fmt\"\n", "	\"fmt\"\n	\"strings\"\n"},
			}, Caught: []Cell{facts("./test/fault", "^TestNoticeAfterEnd$")},
		},
	}
}
