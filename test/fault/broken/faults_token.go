package broken

// tokenFaults take what comes from another than the holder.
func tokenFaults() []Fault {
	return []Fault{
		{
			Name: "settle-any-token", Breaks: "the end of any attempt ends the job, whoever holds it",
			Edits: []Edit{{lua("settle"), "local held = call('ZMSCORE', LEASES, unpack(members))\n", `local held = call('ZMSCORE', LEASES, unpack(members))
for _, member in ipairs(call('ZRANGE', LEASES, 0, -1)) do
  for k = 1, n do
    if not held[k] and string.match(member, ' (.*)$') == string.match(members[k], ' (.*)$') then
      members[k], held[k] = member, 1
    end
  end
end
`}}, Caught: []Cell{
				quick(scripts()),
				linear(),
			},
		},
		{
			Name: "renew-any-token", Breaks: "a renewal of any attempt extends the lease, whoever holds it",
			Edits: []Edit{{lua("renew"), "local held = call('ZMSCORE', LEASES, unpack(members))\n", `local held = call('ZMSCORE', LEASES, unpack(members))
for _, member in ipairs(call('ZRANGE', LEASES, 0, -1)) do
  for k = 1, #members do
    if not held[k] and string.match(member, ' (.*)$') == string.match(members[k], ' (.*)$') then
      members[k], held[k] = member, 1
    end
  end
end
`}}, Caught: []Cell{scripts()},
		},
		{
			Name: "renew-revives", Breaks: "a renewal that comes after the take-back makes a second lease of the job",
			Edits: []Edit{
				{lua("renew"), "  if held[i] then\n", "  if held[i] or call('EXISTS', record(ids[i])) == 1 then\n"},
				{lua("renew"), "call('ZADD', LEASES, 'XX', unpack(longer))", "call('ZADD', LEASES, unpack(longer))"},
			}, Caught: []Cell{
				quick(scripts()),
				linear(),
			},
		},
		{
			Name: "progress-any-token", Breaks: "an attempt that lost its lease still writes progress",
			Edits: []Edit{{
				lua("progress"), "if not call('ZSCORE', LEASES, member) then", "if call('EXISTS', record(id)) == 0 then",
			}}, Caught: []Cell{quick(scripts())},
		},
		{
			Name: "token-is-a-counter", Breaks: "a token is the attempt's number alone, which comes again when Redis has lost data",
			Edits: []Edit{
				{
					lua("upkeep"), "return attempt .. '-' .. WORKER .. '.' .. NUMBER end", "return attempt .. '-w.1' end",
				},
				{"internal/store/claim.go", `		d.Token = strconv.Itoa(d.Attempt) + "-" + c.Worker + "." + strconv.FormatInt(c.Number, 10)
`, `		d.Token = strconv.Itoa(d.Attempt) + "-" + c.Worker + "." + strconv.FormatInt(c.Number, 10)
		if IS_BROKEN {
			d.Token = strconv.Itoa(d.Attempt) + "-w.1"
		}
`},
			}, Caught: []Cell{
				quick(scripts()),
				random(promise("I4"), "rdb"),
			},
		},
		{
			Name: "take-back-keeps-token", Breaks: "an attempt whose lease was taken back is told that it ended the job",
			Edits:  []Edit{{lua("upkeep"), "  run.token = '!' .. tok", "  run.token = tok"}},
			Caught: []Cell{scripts(), linear()},
		},
	}
}
