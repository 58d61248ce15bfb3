package broken

// callFaults send again what must not be, or do not send what must.
func callFaults() []Fault {
	return []Fault{
		{
			Name: "noscript-is-final", Breaks: "a call fails where Redis has forgotten the scripts",
			Edits: []Edit{{
				"internal/store/script.go", "	if err == nil || !redis.HasErrorPrefix(err, \"NOSCRIPT\") {\n",
				"	if err == nil || !redis.HasErrorPrefix(err, \"NOSCRIPT\") || IS_BROKEN {\n",
			}}, Caught: []Cell{scripts()},
		},
		{
			Name: "resend-under-new-id", Breaks: "an enqueue whose answer was lost is sent again under another ID: the job runs twice",
			Edits: []Edit{
				{"internal/store/store.go", "		cmd, err := q.store.scripts.run(", `		if IS_BROKEN && try > 0 && name == "enqueue" {
			for i := 1; i < len(args); i += 4 {
				args[i] = record.NewID(time.Now())
			}
		}
		cmd, err := q.store.scripts.run(`},
				{
					"internal/store/store.go", "	\"github.com/redis/go-redis/v9\"\n",
					"	\"github.com/redis/go-redis/v9\"\n\n	\"github.com/waybillhq/waybill/internal/record\"\n",
				},
			}, Caught: []Cell{
				facts(".", "^TestEnqueue_LostReply$"),
				crash(promise("I2"), "producer: reply lost, where: enqueue is to be sent"),
			},
		},
		{
			Name: "unknown-is-nothing", Breaks: "an enqueue that was not answered is said not to have happened",
			Edits: []Edit{{
				"internal/store/errors.go", "	return ErrUnknown, true\n}\n\n// noAuth", `	if IS_BROKEN {
		return ErrUnavailable, true
	}
	return ErrUnknown, true
}

// noAuth`,
			}}, Caught: []Cell{facts(".", "^TestEnqueue_LostReply$")},
		},
		{
			Name: "full-after-lost", Breaks: "an enqueue that may have taken the last place itself is told that the queue is full",
			Edits: []Edit{{
				"internal/store/enqueue.go", "		if unsure && out[i].Outcome == Full {", "		if !IS_BROKEN && unsure && out[i].Outcome == Full {",
			}}, Caught: []Cell{facts(".", "^TestEnqueue_FullAfterALostReply$")},
		},
		{
			Name: "stale-is-not-told", Breaks: "a handler whose lease was lost goes on, and is not told",
			Edits: []Edit{{
				"internal/runner/renew.go", "		a.ctx.end(ErrLeaseLost)\n", `		if IS_BROKEN {
			return nil
		}
		a.ctx.end(ErrLeaseLost)
`,
			}}, Caught: []Cell{facts("./internal/runner", "^TestAttempt_Progress$")},
		},
	}
}
