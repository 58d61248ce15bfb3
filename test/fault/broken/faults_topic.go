package broken

// topicFaults keep events from subscriptions.
func topicFaults() []Fault {
	return []Fault{
		{
			Name: "cursor-without-lease", Breaks: "a subscription's cursor passes events that are leased to nobody",
			Edits: []Edit{{
				lua("claim"), "  call('ZADD', LEASES, unpack(leases))\n", "  if not events then call('ZADD', LEASES, unpack(leases)) end\n",
			}}, Caught: []Cell{topics(), crash(promise("I9", "I13"), "subscriber: killed, where: claim was answered")},
		},
		{
			Name: "cursor-stands-still", Breaks: "a subscription's cursor is written only where more is left: its events come again",
			Edits: []Edit{{
				lua("events"), "  if cursor ~= first_cursor then\n", "  if cursor ~= first_cursor and not drained then\n",
			}}, Caught: []Cell{topics()},
		},
		{
			Name: "trim-below-the-fastest", Breaks: "the stream is cut below the fastest subscription, not below the slowest",
			Edits: []Edit{{
				lua("topics"), "  local low = list[1] and list[1][1]\n  if low and stay", "  local low = list[1] and list[#list][1]\n  if low and stay",
			}}, Caught: []Cell{topics()},
		},
		{
			Name: "event-without-number", Breaks: "events of one call have one number: nobody sees a gap",
			Edits:  []Edit{{lua("publish"), "  number = number + 1\n  local at, word", "  number = number + (first and 1 or 0)\n  local at, word"}},
			Caught: []Cell{topics()},
		},
		{
			Name: "publish-forgets", Breaks: "a topic does not remember its events: one that is published again is delivered again",
			Edits: []Edit{{
				lua("publish"), "    if #flat > 0 then call('HSET', window(letter), unpack(flat)) end\n", "",
			}}, Caught: []Cell{topics(), crash(promise("I4", "I5"), "publisher: reply lost, where: publish is to be sent")},
		},
	}
}
