-- claim.lua makes work runnable and leases it. Any live worker so keeps the queue moving.
-- ARGV: tag, worker, number of this claim, most jobs, lease in ms, may take a suspect (0 | 1),
--       most bytes of records, kinds the worker knows ("*": every kind; "kind=n": at most n of this kind, also
--       behind "*")...
-- Reply: word, now, claimable elements left (ghosts included), time of the next event ("" where none is known),
--        jobs of a newer format met, deadline of the leases, parked jobs of any kind, then three a job: element,
--        counts, record.
--        Word: ok | paused | again (this number was answered before: what it still holds) | late
--        Counts: attempts failures crashes snoozes. The token is attempt-worker.number.
-- Promise: a job taken is leased in the same step; a repeated claim takes nothing more.
local last = call('HGET', CLAIMS, WORKER)
local known = last and tonumber(string.match(last, '^%d+')) or 0
if tonumber(NUMBER) < known then return {'late', now, 0, '', 0, '', 0} end

local function again()
  local at = tonumber(string.match(last, '^%d+ (%d+)')) or now
  local out = {'again', now, 0, '', 0, at + LEASE, 0}
  for el in string.gmatch(last, '\n([^\n]+)') do
    local id = id_of(el)
    local run = run_of(id)
    local rec = call('MGET', record(id), META)[1]
    if rec and run.outcome == 'active' and run.token == token(run.a) then
      out[#out + 1] = el
      out[#out + 1] = run.a .. ' ' .. run.f .. ' ' .. run.c .. ' ' .. run.s
      out[#out + 1] = rec
    end
  end
  return out
end
if tonumber(NUMBER) == known then return again() end

-- Where a subscription stands, and what it takes from its topic's stream.
local NAME, cursor, cursor_n = string.match(TAG, ':([^:]*):$'), placed(meta[7]) and meta[7], tonumber(meta[8])
local sets, first_cursor, added, repeated, strange = {}, cursor, 0, 0, 0 -- records of new events; counts
local gap, gap_from, gap_to = 0, nil, nil -- events that were cut before they were taken
local drained, stalled = true, nil -- stalled nil: it was not looked whether there is room
local live, number
local top, topic = tonumber(meta[10]), nil -- the highest event it ever came by; n and kept of the topic
if BASE then
  touch()
  topic = call('HMGET', TOPIC, 'n', 'kept')
end
if not cursor and BASE and call('HEXISTS', SUBS, NAME) == 1 then -- it is lost
  local n
  cursor, n = found(NAME)
  cursor_n = math.min(n, cursor_n or n) -- what lies between is told as lost, and not passed over in silence
  top = top or tonumber(topic[1]) -- it may have had them all: the window tells
end
if cursor then
  cursor_n = cursor_n or 0
  top = math.max(cursor_n, top or 0)
  number = tonumber(call('HGET', META, 'seq') or 0)
end

math.randomseed(time[2] + tonumber(NUMBER))
local first_lease = take_back_expired()
local times = call('EXISTS', DUE, RETRY, OVERFLOW, DONE, DEAD) > 0 -- something waits for a time
if times then
  promote(DUE)
  promote(RETRY)
  if call('EXISTS', OVERFLOW) == 1 then readmit() end
  sweep()
  cut(200)
end
if meta[5] then turn_both(meta[5], tonumber(meta[6] or 1000000)) end
if tonumber(NUMBER) % 64 == 1 then retire() end

-- admit makes a job of an event and takes it, or sets it aside.
local function admit(id, at, head, payload)
  number = number + 1
  local place = '3e8F' .. string.format('%011x', number)
  local el, rec = place .. ':' .. id, '1' .. place .. string.format('%011x', math.min(at, 2 ^ 44 - 1)) .. head .. payload
  local k = #sets
  sets[k + 1], sets[k + 2] = JOB .. id, rec
  added = added + 1
  local ok, kind = suits(rec)
  if ok then take(el, id, rec, nil, kind) else moves[#moves + 1] = {kind, el} end
end

-- met notes the number of an event at which the cursor comes by, and what is missing before it.
local function met(n)
  if n > top + 1 then
    gap, gap_from, gap_to = gap + n - top - 1, gap_from or top + 1, n - 1
  end
  cursor_n, top = n, math.max(n, top)
end

-- stands tells whether a record stands in an index. It does not where a claim failed, between record and lease.
local function stands(id)
  local rec = call('GETRANGE', record(id), 0, 15)
  if byte(rec) ~= 49 then return true end
  local el, run = element(rec, id), run_of(id)
  if call('ZSCORE', LEASES, run.token .. ' ' .. el) then return true end
  for _, key in ipairs({PARKED, RETRY, DUE, DEAD, DONE, URGENT, SUSPECTS, OVERFLOW}) do
    if call('ZSCORE', key, el) then return true end
  end
  return call('LPOS', READY, el)
end

local seen = {} -- IDs of events that became jobs in this claim

-- come_by takes an entry or passes it by. It gives its weight in bytes. What the window knows is passed by only where the
-- subscription came by that event before: else somebody published the ID anew, when the topic knew it no longer.
local function come_by(entry, job, ended)
  local n, id, head, payload = event(entry)
  if not n then
    strange = strange + 1
    return #table.concat(entry[2])
  end
  local again = seen[id] or job and stands(id) or not job and ended and n <= top
  met(n)
  if again then
    repeated = repeated + 1
  else
    seen[id] = true
    admit(id, tonumber(string.match(entry[1], '^%d+')), head, payload)
  end
  return #payload
end

-- fetch takes new events straight into leases, a few at a time since they may be large. An event that is a job already, or
-- was one within the window, is passed by: somebody set the cursor back.
local function fetch(room)
  local windows = call('EXISTS', GEN0, GEN1, NAMED0, NAMED1) > 0 and {GEN0, GEN1, NAMED0, NAMED1} or {}
  local looked, step, weight = 0, 8, 0 -- weight: bytes read, also of what is parked or passed by
  while taken < MOST and bytes < BYTES and weight < BYTES and added < room and looked < MOST + 100 do
    step = math.min(step, MOST - taken, room - added)
    local entries, ids, names = call('XRANGE', STREAM, '(' .. cursor, '+', 'COUNT', step), {}, {META}
    if #entries == 0 then return end
    for i, entry in ipairs(entries) do
      ids[i] = entry[2][4] or ''
      names[i + 1] = JOB .. ids[i]
    end
    local jobs, ended = {}, {}
    if call('EXISTS', unpack(names)) > 1 then
      for i = 1, #ids do jobs[i] = call('EXISTS', META, names[i + 1]) > 1 end
    end
    for _, key in ipairs(windows) do
      for i, entry in ipairs(call('HMGET', key, unpack(ids))) do ended[i] = ended[i] or entry end
    end
    for i, entry in ipairs(entries) do
      weight = weight + come_by(entry, jobs[i], ended[i])
      cursor = entry[1]
    end
    looked = looked + #entries
    if #entries < step then return end
    step = weight > looked * 32768 and 4 or 25
  end
  drained = false
end

local function fetch_as_room_is()
  if not cursor or meta[9] then return end -- no subscription, or it is detached
  local capacity, room = tonumber(meta[3]), math.huge
  if capacity then
    live = depth(meta[4])
    room = math.max(0, capacity - live)
  end
  drained = room > 0 and taken < MOST and bytes < BYTES
  if drained then fetch(room) end
  stalled = added >= room
end

local special -- something waits outside the list; nil: nobody looked

-- choose looks at no more than it wants; and at a hundred more where some of those were set aside, since what it wants
-- may stand behind them.
local function choose()
  local middle, consider_urgent = string.format('%.0f', 1000 * ONE), nil
  special = call('EXISTS', URGENT, SUSPECTS, PARKED) > 0
  if special then
    consider_urgent = function(low, high)
      local want, before = MOST - taken, #moves
      if want == 0 then return end
      consider(URGENT, call('ZRANGEBYSCORE', URGENT, low, high, 'LIMIT', 0, want))
      if #moves == before or taken >= MOST then return end
      consider(URGENT, call('ZRANGEBYSCORE', URGENT, low, high, 'LIMIT', want, 100))
    end
    if MAY then consider(SUSPECTS, call('ZRANGE', SUSPECTS, 0, 0)) end
    if call('EXISTS', PARKED) == 1 then consider_parked() end
    consider_urgent('-inf', '(' .. middle)
  end
  if taken < MOST and bytes < BYTES then
    local extra = math.max(0, math.min(tonumber(meta[4] or 0), 100)) -- ghosts may stand in front
    local want, before = MOST - taken + extra, #moves
    consider(READY, call('LRANGE', READY, 0, want - 1))
    if #moves > before and taken < MOST then consider(READY, call('LRANGE', READY, want, want + 99)) end
  end
  fetch_as_room_is()
  if special then consider_urgent(middle, '+inf') end
end

-- kind_number numbers the kinds under which elements are parked; 0 stands for newer formats.
local function kind_number(kind)
  if kind == '' then return 0 end
  local number = call('HGET', META, 'kind:' .. kind)
  if not number then
    number = call('HINCRBY', META, 'kinds', 1)
    call('HSET', META, 'kind:' .. kind, number)
  end
  return number
end

local function remove()
  for _, r in ipairs(removals) do
    if r[1] == READY then
      call('LTRIM', READY, r[3], -1)
    else
      call('ZREM', r[1], unpack(r[2], 1, r[3]))
    end
  end
  fewer_ghosts(ghosts)
  count('orphans', orphans)
end

local function move()
  for _, m in ipairs(moves) do
    if m[1] == SUSPECTS then
      call('ZADD', SUSPECTS, now, m[2])
    else
      call('ZADD', PARKED, kind_number(m[1]), m[2])
      fresh, parked = true, true
    end
  end
end

-- prepare writes what may be written first, and fails before a job is touched where another type stands at a key that is
-- written behind the leases: a lease whose claim failed is nobody's, and counts as a crash.
local function prepare()
  call('HSETNX', SUBS, NAME, now) -- it may have been lost
  if stalled then
    call('SET', TAG .. 'stalled', 1) -- who ends a job rings
  elseif stalled == false then
    call('UNLINK', TAG .. 'stalled')
  end
  if taken + #moves == 0 then return end
  call('HLEN', RUNS)
  call('HLEN', STATS)
  call('ZCARD', PARKED)
end

-- save_new makes jobs of the events that were taken.
local function save_new()
  call('MSET', unpack(sets))
  call('HSET', META, 'seq', string.format('%.0f', number))
  if live then raise(live + added) end
end

-- follow writes where the subscription stands now. It tells how many events it left.
local function follow()
  if cursor ~= first_cursor then
    call('HSET', META, 'cursor', cursor, 'cursor_n', string.format('%.0f', cursor_n), 'top', string.format('%.0f', top))
    if gap > 0 then call('HSET', META, 'lost_from', gap_from, 'lost_to', gap_to, 'lost_at', now) end
    enter(NAME, cursor)
    for name, n in pairs({accepted = added, repeated = repeated, strange = strange, lost = gap}) do count(name, n) end
  end
  return (drained or stalled) and 0 or math.max(0, tonumber(topic[1] or 0) - cursor_n)
end

if meta[1] then
  -- paused
elseif MOST > 0 then
  choose()
else
  fetch_as_room_is() -- takes nothing, and sees whether something is left
end
if cursor then prepare() end
if added > 0 then save_new() end
remove()
if taken > 0 then
  call('HSET', CLAIMS, WORKER, NUMBER .. ' ' .. now .. '\n' .. table.concat(els, '\n'))
  call('ZADD', LEASES, unpack(leases))
  call('HSET', RUNS, unpack(runs))
  count('deliveries', taken)
else
  call('HSET', CLAIMS, WORKER, NUMBER .. ' ' .. now) -- a late copy of this claim must find it
end
move()
local unread = cursor and follow() or 0 -- last: an event is passed only when its job is leased or parked
if meta[1] then
  out[1] = 'paused'
else
  out[3] = unread + call('LLEN', READY) + (special == false and 0 or call('ZCARD', URGENT))
  if special ~= false or #moves > 0 then out[7] = call('ZCARD', PARKED) end
  if special and out[7] > 0 and (taken >= MOST or bytes >= BYTES) then fresh = true end -- others may take them
  if out[3] > 0 or fresh then ring() end
end
local event = math.min(first_lease, taken > 0 and now + LEASE or math.huge)
if times then event = math.min(event, first_of(DUE), first_of(RETRY)) end
if event < math.huge then out[4] = event end
out[5] = newer
-- The bell wakes one worker, which may not know the kind either; this wakes all.
if parked then redis.pcall('PUBLISH', TAG .. 'control', 'parked') end
announce()
if cursor then keep_at_times(topic[2]) end
return out
