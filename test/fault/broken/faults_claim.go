package broken

// claimFaults make work runnable, and take it, otherwise than promised.
func claimFaults() []Fault {
	return []Fault{
		{
			Name: "claim-in-two-calls", Breaks: "the lease is written by a second call: a worker that dies between loses the job",
			Edits: []Edit{
				{lua("claim"), "  call('ZADD', LEASES, unpack(leases))\n", ""},
				{"internal/store/claim.go", "	return parseClaim(c, reply)\n", `	if IS_BROKEN {
		got, err := parseClaim(c, reply)
		for _, d := range got.Jobs {
			z := redis.Z{Score: float64(d.Deadline.UnixMilli()), Member: d.Member()}
			if err == nil {
				err = q.store.rdb.ZAdd(ctx, q.tag+"leases", z).Err()
			}
		}
		return got, err
	}
	return parseClaim(c, reply)
`},
				{"internal/store/claim.go", "	\"time\"\n\n", "	\"time\"\n\n	\"github.com/redis/go-redis/v9\"\n\n"},
			}, Caught: []Cell{crash(promise("I1", "I9", "I16"), "worker: killed, where: claim was answered"), cut("audit of")},
		},
		{
			Name: "claim-without-lease", Breaks: "a claim of many jobs leases all but the last of them, which is then nowhere",
			Edits: []Edit{{
				lua("claim"), "  call('ZADD', LEASES, unpack(leases))\n",
				"  call('ZADD', LEASES, unpack(leases, 1, math.max(2, #leases - 2)))\n",
			}}, Caught: []Cell{scripts()},
		},
		{
			Name: "claim-takes-again", Breaks: "a claim whose answer was lost takes more jobs when it comes again",
			Edits:  []Edit{{lua("claim"), "if tonumber(NUMBER) == known then return again() end\n", "\n"}},
			Caught: []Cell{scripts()},
		},
		{
			Name: "claim-comes-late", Breaks: "a copy of an older claim takes jobs for nobody",
			Edits: []Edit{{
				lua("claim"), "if tonumber(NUMBER) < known then return {'late', now, 0, '', 0, '', 0} end\n", "\n",
			}}, Caught: []Cell{scripts()},
		},
		{
			Name: "take-back-early", Breaks: "every claim takes back all leases, whether they ran out or not",
			Edits: []Edit{
				{lua("upkeep"), "  if first > now then return first end\n", ""},
				{
					lua("upkeep"), "call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0, 100)",
					"call('ZRANGEBYSCORE', LEASES, '-inf', '+inf', 'LIMIT', 0, 100)",
				},
			}, Caught: []Cell{
				scripts(),
				linear(),
			},
		},
		{
			Name: "take-back-unbounded", Breaks: "one claim takes back all leases that ran out, however many",
			Edits: []Edit{{
				lua("upkeep"), "call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0, 100)", "call('ZRANGEBYSCORE', LEASES, '-inf', now)",
			}}, Caught: []Cell{facts("./internal/store", "^TestTakeBackBounds$")},
		},
		{
			Name: "take-back-forgets-crashes", Breaks: "crashes are not counted: a job that kills its worker kills them all",
			Edits:  []Edit{{lua("upkeep"), "or 0), run.c + 1\n", "or 0), run.c\n"}},
			Caught: []Cell{scripts()},
		},
		{
			Name: "promote-early", Breaks: "a job that is delayed is delivered up to a second early",
			Edits: []Edit{{
				lua("upkeep"), "call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, 100)",
				"call('ZRANGEBYSCORE', key, '-inf', now + 1000, 'LIMIT', 0, 100)",
			}}, Caught: []Cell{
				scripts(),
				linear(),
			},
		},
		{
			Name: "client-clock", Breaks: "a lease ends by the clock of the worker that claimed, not by that of Redis",
			Edits: []Edit{
				{
					"internal/store/claim.go", "	reply, _, err := q.call(ctx, \"claim\", c.appendKinds(args)...)\n", `	if IS_BROKEN {
		args[3] = time.Now().Add(c.Lease).UnixMilli()
	}
	reply, _, err := q.call(ctx, "claim", c.appendKinds(args)...)
`,
				},
				{lua("upkeep"), "tonumber(ARGV[4]), tonumber(ARGV[5])\n", "tonumber(ARGV[4]), tonumber(ARGV[5]) - now\n"},
			}, Caught: []Cell{scripts(), facts("./test/fault", "^TestClockForward$")},
		},
	}
}
