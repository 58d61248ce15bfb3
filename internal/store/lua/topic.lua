-- topic.lua tells how a topic stands, with all who read it. It writes nothing.
-- ARGV: the topic's tag
-- Reply: now, then three lists: names and values of the topic ("meta:" fields and "stats:" counters among them); such a
--        list a subscription; such a list a consumer group of somebody else's.
local meta = dict(call('HGETALL', META))
local first, first_n = near('XRANGE', '-', '+')
local n = tonumber(meta.n or 0)
local topic = {'entries', call('XLEN', STREAM), 'first', first or '', 'first_n', first_n or ''}
for prefix, key in pairs({['meta:'] = META, ['stats:'] = STATS}) do
  local all = call('HGETALL', key)
  for i = 1, #all, 2 do
    topic[#topic + 1] = prefix .. all[i]
    topic[#topic + 1] = all[i + 1]
  end
end

-- rest tells of what lies above a cursor: events that are there, events that are gone and that it never came by, time of
-- the first. top: number of the highest event that it came by.
local function rest(cursor, top)
  local id, number = near('XRANGE', '(' .. cursor, '+')
  if not id then return 0, math.max(0, n - top), '' end
  return math.max(0, n - number + 1), math.max(0, math.min(n, number - 1) - top), (string.match(id, '^%d+'))
end

local mine, subs = {}, {}
local function describe(name)
  local tag = BASE .. 'sub:' .. name .. ':'
  local m = dict(call('HGETALL', tag .. 'meta'))
  local s = {'name', name, 'cursor', m.cursor or '', 'detached', m.detached or '', 'paused', m.paused or ''}
  local lag, gone, oldest, top = 0, 0, '', math.max(tonumber(m.cursor_n or 0), tonumber(m.top or 0))
  if placed(m.cursor) then lag, gone, oldest = rest(m.cursor, top) end
  local function say(what, value)
    s[#s + 1] = what
    s[#s + 1] = value
  end
  say('taken_n', m.cursor_n or '')
  say('lag', lag)
  say('oldest', oldest)
  say('gone', gone) -- lost, and no claim has met it yet
  local counts = call('HMGET', tag .. 'stats', 'lost', 'strange', 'repeated')
  say('lost', tonumber(counts[1] or 0) + gone)
  say('strange', counts[2] or 0) -- entries passed by that publish did not write
  say('repeated', counts[3] or 0) -- events passed by that were jobs before
  say('lost_from', gone > 0 and top + 1 or m.lost_from or '')
  say('lost_to', gone > 0 and top + gone or m.lost_to or '')
  say('lost_at', m.lost_at or '')
  say('ready', call('LLEN', tag .. 'ready') - tonumber(m.ghosts or 0) + call('ZCARD', tag .. 'urgent') + call('ZCARD', tag .. 'suspects'))
  for what, key in pairs({active = 'leases', retry = 'retry', scheduled = 'due', parked = 'parked', spilled = 'overflow', dead = 'dead'}) do
    say(what, call('ZCARD', tag .. key))
  end
  return s
end
local names = call('HKEYS', SUBS)
table.sort(names)
for i, name in ipairs(names) do
  mine[name] = true
  subs[i] = describe(name)
end

-- idle is for how long no consumer of a group did anything; '' where it has none.
local function idle(name)
  local least
  for _, flat in ipairs(call('XINFO', 'CONSUMERS', STREAM, name)) do
    local ms = dict(flat).idle
    if not least or ms < least then least = ms end
  end
  return least or ''
end
local others, ignored = {}, dict(call('HGETALL', BASE .. 'topic:ignored'))
for _, group in ipairs(groups()) do
  if not mine[group.name] then
    local wanted = wants(group)
    local id, number = near('XRANGE', wanted, '+')
    others[#others + 1] = {'name', group.name, 'consumers', group.consumers, 'pending', group.pending, 'wants', wanted,
      'behind', number and math.max(0, n - number + 1) or 0, 'oldest', id and string.match(id, '^%d+') or '',
      'idle', idle(group.name), 'ignored', ignored[group.name] or ''}
  end
end
return {now, topic, subs, others}
