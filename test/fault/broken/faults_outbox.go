package broken

// outboxFaults let rows be skipped, or sent for nothing.
func outboxFaults() []Fault {
	return []Fault{
		{
			Name: "relay-marks-first", Breaks: "rows are marked as sent in a transaction before they are sent: a relay that dies skips them",
			Edits: []Edit{
				{"outbox/carry.go", "		b.send(ctx)\n		return b.mark(ctx, s)\n", `		if IS_BROKEN {
			for _, c := range b.rows {
				b.sent = append(b.sent, c.seq)
			}
			return r.o.markSent(ctx, s, b.before.name, b.sent)
		}
		b.send(ctx)
		return b.mark(ctx, s)
`},
				{"outbox/carry.go", "	return b.end(ctx, err)\n}\n\n// asideQueue", `	if IS_BROKEN && err == nil && len(b.rows) > 0 {
		b.sent = nil
		b.send(ctx)
	}
	return b.end(ctx, err)
}

// asideQueue`},
			}, Caught: []Cell{crash(promise("I12"), "relay on postgresql: killed, where: enqueue is to be sent")},
		},
		{
			Name: "relay-trusts-silence", Breaks: "rows whose call was not answered are marked as sent",
			Edits: []Edit{
				{"outbox/batch.go", "	if b.err = err; err != nil {\n", `	if IS_BROKEN && err != nil {
		b.sent = append(b.sent, seqs...)
		return
	}
	if b.err = err; err != nil {
`},
				{"outbox/batch.go", "		case e.Err != nil:\n", `		case IS_BROKEN && e.Err != nil:
			b.sent = append(b.sent, seqs[i])
		case e.Err != nil:
`},
			}, Caught: []Cell{facts("./outbox", "^TestRelay_silentSend$/^sqlite$")},
		},
		{
			Name: "relay-ignores-full", Breaks: "rows that found the queue full are marked as sent",
			Edits: []Edit{{"outbox/batch.go", "			b.full++\n", `			if IS_BROKEN {
				b.sent = append(b.sent, seqs[i])
				continue
			}
			b.full++
`}}, Caught: []Cell{patient(facts("./outbox", "^TestRelay_full$/^sqlite$"))},
		},
	}
}
