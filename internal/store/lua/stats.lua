-- stats.lua tells how a queue stands. It writes nothing.
-- ARGV: tag
-- Reply: now, then name and value of each count of now, "meta:" fields and "stats:" counters.
local out = {now}
local function say(name, value)
  out[#out + 1] = name
  out[#out + 1] = value
end
local ghosts = tonumber(call('HGET', META, 'ghosts') or 0)
say('ready', call('LLEN', READY) - ghosts + call('ZCARD', URGENT) + call('ZCARD', SUSPECTS))
local counts = {scheduled = DUE, retry = RETRY, parked = PARKED, active = LEASES, spilled = OVERFLOW, dead = DEAD,
  kept = DONE}
for name, key in pairs(counts) do say(name, call('ZCARD', key)) end
say('urgent', call('ZCARD', URGENT))

-- the oldest claimable job, among the first hundred of the list and the first of each class on top
local oldest = math.huge
local function age(els)
  for _, el in ipairs(els) do
    local start = call('GETRANGE', record(id_of(el)), 0, 26)
    if string.sub(start, 2, 16) == string.sub(el, 1, 15) then
      oldest = math.min(oldest, tonumber(string.sub(start, 17), 16) or oldest)
      return
    end
  end
end
age(call('LRANGE', READY, 0, 99))
age(call('ZRANGE', URGENT, 0, 0))
age(call('ZRANGE', SUSPECTS, 0, 0))
say('oldest', oldest < math.huge and oldest or '')

local workers = 0
local some = call('HRANDFIELD', CLAIMS, 1000, 'WITHVALUES') -- all of them where there are not more
for i = 2, #some, 2 do
  if (tonumber(string.match(some[i], '^%d+ (%d+)') or 0)) > now - 30000 then workers = workers + 1 end
end
say('workers', workers)
for prefix, key in pairs({['meta:'] = META, ['stats:'] = STATS}) do
  local all = call('HGETALL', key)
  for i = 1, #all, 2 do
    if string.sub(all[i], 1, 5) ~= 'kind:' then say(prefix .. all[i], all[i + 1]) end
  end
end
return out
