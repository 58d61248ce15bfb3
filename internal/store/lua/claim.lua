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

-- The claim itself: read and choose, then write.

local mine, every = {}, false
local rooms -- how many more of each kind this claim may take; nil: none has a bound
for i = 8, #ARGV do
  local kind = ARGV[i]
  mine[kind] = true
  every = every or kind == '*'
  if string.find(kind, '=', 1, true) then
    rooms = rooms or {}
    rooms[string.match(kind, '^[^=]*')] = tonumber(string.match(kind, '%d*$'))
  end
end
local els, leases, runs = {}, {}, {} -- what is taken
local removals, moves = {}, {} -- {key, elements, how many} and {zset or kind, element}
local out = {'ok', now, 0, '', 0, now + LEASE, 0}
local bytes, ghosts, orphans, newer, suspects, taken = 0, 0, 0, 0, 0, 0
-- A number turned into text for each job is dear, so it is done once. FIRST is what first attempts are called.
local deadline = string.format('%.0f', now + LEASE)
local FIRST = {counts = '1 0 0 0', member = token(1) .. ' ', run = running('1 0 0 0', token(1))}

-- kind_known tells whether the worker knows the kind of a record. Neighbours are mostly of one kind, so the
-- last one known, with the byte that ends it, is tried first.
local same, till = nil, 0
local function kind_known(rec)
  if every or sub(rec, 41, till) == same then return true end
  local kind = string.match(rec, '^[^ \n]*', 41)
  if not mine[kind] then return false, kind end
  till = 41 + #kind
  same = sub(rec, 41, till)
  return true
end

local suits = kind_known
if rooms then -- a job of a kind with a bound is counted: its kind is told in any case
  suits = function(rec)
    local kind = string.match(rec, '^[^ \n]*', 41)
    local room = rooms[kind]
    if room then return room > 0, kind end
    if every or mine[kind] then return true end
    return false, kind
  end
end

-- following is what the attempt after the one of a run entry is called.
local function following(run)
  local a, f, c, s = string.match(run, '^(%d+) (%d+) (%d+) (%d+)')
  a = (a or 0) + 1
  local counts = a .. ' ' .. (f or 0) .. ' ' .. (c or 0) .. ' ' .. (s or 0)
  return {counts = counts, member = token(a) .. ' ', run = running(counts, token(a))}
end

local function take(el, id, rec, run, kind)
  if kind then rooms[kind] = rooms[kind] - 1 end
  local attempt = run and following(run) or FIRST
  local k = 2 * taken
  taken = taken + 1
  els[taken] = el
  leases[k + 1], leases[k + 2] = deadline, attempt.member .. el
  runs[k + 1], runs[k + 2] = id, attempt.run
  k = #out
  out[k + 1], out[k + 2], out[k + 3] = el, attempt.counts, rec
  bytes = bytes + #rec
end

-- decide takes an element, or says where else it goes.
local function decide(key, el, id, rec, run)
  if not rec then
    if key == READY then ghosts = ghosts + 1 else orphans = orphans + 1 end
    return
  end
  if byte(rec) ~= 49 then
    newer = newer + 1
    moves[#moves + 1] = {'', el}
    return
  end
  if sub(rec, 2, 16) ~= sub(el, 1, 15) then
    if key == READY then ghosts = ghosts + 1 end
    return
  end
  local ok, kind = suits(rec)
  if not ok then
    moves[#moves + 1] = {kind, el}
  elseif run and tonumber(string.match(run, '^%d+ %d+ (%d+)') or 0) > 1 then
    if MAY and suspects == 0 then
      suspects = 1
      take(el, id, rec, run, kind)
    else
      moves[#moves + 1] = {SUSPECTS, el}
    end
  else
    take(el, id, rec, run, kind)
  end
end

-- consider goes through elements of one source until there is enough.
local function consider(key, list)
  local n, ids, i = #list, {}, 1
  if n == 0 then return end
  for j = 1, n do ids[j] = sub(list[j], 17) end
  local entries = call('HMGET', RUNS, unpack(ids))
  while i <= n and taken < MOST and bytes < BYTES do
    local step = (i == 1 and 8) or (bytes > i * 32768 and 4) or 25 -- records may be large
    local from, till, names = i, math.min(i + step - 1, n), {META}
    for j = from, till do names[j - from + 2] = JOB .. ids[j] end
    local recs = call('MGET', unpack(names))
    while i <= till and taken < MOST and bytes < BYTES do
      decide(key, list[i], ids[i], recs[i - from + 2], entries[i])
      i = i + 1
    end
  end
  if i > 1 then removals[#removals + 1] = {key, list, i - 1} end
end

local function consider_parked()
  -- of_kind takes what is parked under a number, as far as there is room.
  local function of_kind(number, room)
    local want = math.min(MOST - taken, room or MOST)
    if want > 0 then consider(PARKED, call('ZRANGEBYSCORE', PARKED, number, number, 'LIMIT', 0, want)) end
  end
  if not every then
    for i = 8, #ARGV do
      local kind = string.match(ARGV[i], '^[^=]*')
      local number = call('HGET', META, 'kind:' .. kind)
      if number then of_kind(number, rooms and rooms[kind]) end
    end
    return
  end
  if not rooms then
    consider(PARKED, call('ZRANGEBYSCORE', PARKED, 1, '+inf', 'LIMIT', 0, MOST))
    return
  end
  local kinds, number = {}, 0 -- those with a bound, by number; from one number that is parked to the next
  for kind in pairs(rooms) do kinds[tonumber(call('HGET', META, 'kind:' .. kind) or 0)] = kind end
  for _ = 1, 1000 do
    local score = call('ZRANGEBYSCORE', PARKED, '(' .. number, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    if not score or taken >= MOST then return end
    number = tonumber(score)
    of_kind(number, kinds[number] and rooms[kinds[number]])
  end
end

-- What a subscription takes from its topic's stream.
local cursor, cursor_n = meta[7], tonumber(meta[8] or 0)
local sets, first_cursor, added, repeated, strange = {}, cursor, 0, 0, 0 -- records of new events; counts
local gap, gap_from, gap_to = 0, nil, nil -- events that were cut before they were taken
local drained, stalled = true, false
local number = cursor and tonumber(call('HGET', META, 'seq') or 0)
if not cursor and BASE and call('HEXISTS', SUBS, string.match(TAG, ':([^:]*):$')) == 1 then -- it is lost
  cursor, cursor_n = found(string.match(TAG, ':([^:]*):$'))
  number = tonumber(call('HGET', META, 'seq') or 0)
end

-- admit makes a job of an event and takes it, or sets it aside.
local function admit(id, at, head, payload)
  number = number + 1
  local place = '3e8F' .. string.format('%011x', number)
  local el, rec = place .. ':' .. id, '1' .. place .. string.format('%011x', at) .. head .. payload
  local k = #sets
  sets[k + 1], sets[k + 2] = JOB .. id, rec
  added = added + 1
  local ok, kind = suits(rec)
  if ok then take(el, id, rec, nil, kind) else moves[#moves + 1] = {kind, el} end
end

-- met notes the number of an event at which the cursor comes by, and what is missing before it.
local function met(n)
  if n > cursor_n + 1 then
    gap, gap_from, gap_to = gap + n - cursor_n - 1, gap_from or cursor_n + 1, n - 1
  end
  cursor_n = n
end

-- fetch takes new events straight into leases, a few at a time since they may be large. An event that is a job already, or
-- was one within the window, is passed by: somebody set the cursor back.
local function fetch(room)
  local windows = call('EXISTS', GEN0, GEN1, NAMED0, NAMED1) > 0 and {GEN0, GEN1, NAMED0, NAMED1} or {}
  local looked, step = 0, 8
  while taken < MOST and bytes < BYTES and added < room and looked < MOST + 100 do
    step = math.min(step, MOST - taken, room - added)
    local entries, ids, names = call('XRANGE', STREAM, '(' .. cursor, '+', 'COUNT', step), {}, {META}
    if #entries == 0 then return end
    for i, entry in ipairs(entries) do
      ids[i] = entry[2][4] or ''
      names[i + 1] = JOB .. ids[i]
    end
    local known = {}
    if call('EXISTS', unpack(names)) > 1 then
      for i = 1, #ids do known[i] = call('EXISTS', META, names[i + 1]) > 1 end
    end
    for _, key in ipairs(windows) do
      for i, entry in ipairs(call('HMGET', key, unpack(ids))) do known[i] = known[i] or entry end
    end
    local seen = {}
    for i, entry in ipairs(entries) do
      local n, id, head, payload = event(entry)
      if n then met(n) end
      if not n then
        strange = strange + 1
      elseif known[i] or seen[id] then
        repeated = repeated + 1
      else
        seen[id] = true
        admit(id, tonumber(string.match(entry[1], '^%d+')), head, payload)
      end
      cursor = entry[1]
    end
    looked = looked + #entries
    if #entries < step then return end
    step = bytes > looked * 32768 and 4 or 25
  end
  drained = false
end

local function fetch_as_room_is()
  if not cursor or meta[9] then return end -- no subscription, or it is detached
  if taken >= MOST or bytes >= BYTES then
    drained = false
    return
  end
  local room = tonumber(meta[3]) and math.max(0, meta[3] - depth(meta[4])) or math.huge
  fetch(room)
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

-- follow writes what was taken from the stream, and where the subscription stands now. It tells how many are left there.
local function follow()
  if #sets > 0 then
    call('MSET', unpack(sets))
    call('HSET', META, 'seq', number)
  end
  if stalled then
    call('SET', TAG .. 'stalled', 1) -- who ends a job rings
  elseif tonumber(meta[3]) then
    call('UNLINK', TAG .. 'stalled')
  end
  if cursor ~= first_cursor then
    call('HSET', META, 'cursor', cursor, 'cursor_n', string.format('%.0f', cursor_n))
    if gap > 0 then call('HSET', META, 'lost_from', gap_from, 'lost_to', gap_to, 'lost_at', now) end
    enter(string.match(TAG, ':([^:]*):$'), cursor)
    for name, n in pairs({accepted = added, repeated = repeated, strange = strange, lost = gap}) do count(name, n) end
  end
  local topic = call('HMGET', TOPIC, 'n', 'kept')
  keep_at_times(topic[2])
  return (drained or stalled) and 0 or math.max(0, (tonumber(topic[1]) or 0) - cursor_n)
end

if MOST > 0 and not meta[1] then choose() end
remove()
local unread = cursor and follow() or 0
if taken > 0 then
  call('HSET', CLAIMS, WORKER, NUMBER .. ' ' .. now .. '\n' .. table.concat(els, '\n'))
  call('ZADD', LEASES, unpack(leases))
  call('HSET', RUNS, unpack(runs))
  count('deliveries', taken)
else
  call('HSET', CLAIMS, WORKER, NUMBER .. ' ' .. now) -- a late copy of this claim must find it
end
move()
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
return out
