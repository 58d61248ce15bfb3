-- turn.lua stands before the scripts that turn the settled window: claims those of queues, publishes that of their topic.

-- turn begins a new generation of the settled window when the current one is old or full.
local function turn(which, name, generations, at, span, full)
  local current = turns[which] == '1' and 2 or 1
  if now < at + span and not (full and call('HLEN', generations[current]) >= full) then return end
  turns[which] = current == 1 and '1' or '0'
  call('UNLINK', generations[3 - current])
  call('HSET', META, name, turns[which], name .. '_at', math.max(at, now), name .. '_before', at)
end

-- turn_both turns what is to be turned. created: when the queue or topic was; full: entries of a full generation.
local function turn_both(created, full)
  local m = call('HMGET', META, 'gen_at', 'window_generated', 'named_at', 'window_named')
  turn(1, 'gen', {GEN0, GEN1}, tonumber(m[1] or created), tonumber(m[2]) or 60000, full)
  turn(2, 'named', {NAMED0, NAMED1}, tonumber(m[3] or created), tonumber(m[4]) or HOUR, full)
end
