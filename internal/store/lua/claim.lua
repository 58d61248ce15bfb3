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
local WORKER, NUMBER, MOST, LEASE = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local MAY, BYTES = ARGV[6] == '1', tonumber(ARGV[7])
local function token(attempt) return attempt .. '-' .. WORKER .. '.' .. NUMBER end

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

local meta = call('HMGET', META, 'paused', 'crash_allowance', 'capacity', 'ghosts', 'created', 'window_count')
local allowance = tonumber(meta[2] or 5) or math.huge -- "unlimited" forgives all
local fresh = false -- suspects or parked jobs wait that some other worker may take
local parked = false -- jobs were set aside in this claim

-- Upkeep: whole moves, each bounded, each reading before it writes.

-- take_back ends an attempt whose lease ran out: a crash.
local function take_back(member)
  local tok, el = string.match(member, '^(%S+) (.*)$')
  local id = id_of(el)
  local rec = call('MGET', record(id), META)[1]
  local run = run_of(id)
  if rec and string.byte(rec) ~= 49 then -- a newer format: left to workers that know it
    call('ZADD', LEASES, now + 60000, member)
    return
  end
  if not rec then
    call('ZREM', LEASES, member)
    clear({id})
    count('orphans', 1)
    return
  end
  local keep = string.sub(rec, 28, 40)
  touch_outbox(keep)
  call('ZREM', LEASES, member)
  run.a, run.c = math.max(run.a, tonumber(string.match(tok, '^%d+')) or 0), run.c + 1
  run.token = '!' .. tok -- no call can bring this token: what the attempt still says is stale
  count('crashes', 1)
  fault(id, '{"attempt":' .. run.a .. ',"at":' .. now .. ',"type":"crash","message":"worker lost","worker":"'
    .. (string.match(tok, '%-(%w+)') or '') .. '"}')
  if call('HEXISTS', CANCELS, id) == 1 then
    finish(id, el, keep, 'cancelled', run, math.max(retention(rec), HOUR))
  elseif run.c > allowance then
    bury(id, el, keep, run)
  else
    save_run(id, run, 'lost')
    if run.c > 1 then -- a suspect
      call('ZADD', RETRY, now + math.min(math.random(math.max(LEASE, 1)) * 2 ^ (run.c - 2), HOUR), el)
    else
      place(el, true)
    end
  end
end

-- first_of is the earliest time in a zset of times.
local function first_of(key) return tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]) or math.huge end

-- take_back_expired gives the earliest deadline that is left.
local function take_back_expired()
  local far = now + HOUR -- the clock went back: a lease may end no later than this
  for _, member in ipairs(call('ZRANGEBYSCORE', LEASES, '(' .. far, '+inf', 'LIMIT', 0, 100)) do
    call('ZADD', LEASES, far, member)
  end
  local first = first_of(LEASES)
  if first > now then return first end
  for _, member in ipairs(call('ZRANGEBYSCORE', LEASES, '-inf', now, 'LIMIT', 0, 100)) do take_back(member) end
  return first_of(LEASES)
end

-- promote moves what is due to the claimable ones, jobs that crashed twice to the suspects.
local function promote(key)
  local els = call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, 100)
  if #els == 0 then return end
  local ids = {}
  for i, el in ipairs(els) do ids[i] = id_of(el) end
  local runs = call('HMGET', RUNS, unpack(ids))
  call('ZREM', key, unpack(els))
  for i, el in ipairs(els) do
    local crashes = tonumber(string.match(runs[i] or '', '^%d+ %d+ (%d+)') or 0)
    if crashes > 1 then
      call('ZADD', SUSPECTS, now, el)
      fresh = true
    else
      place(el)
    end
  end
end

-- due_of is the time at which a spilled job is due.
local function due_of(start)
  local line = string.match(start, '^([^\n]*)', 41) or ''
  local at, delay = string.match(line, ' a(%x+)'), string.match(line, ' d(%x+)')
  if at then return tonumber(at, 16) end
  return (tonumber(string.sub(start, 17, 27), 16) or 0) + tonumber(delay or '0', 16)
end

-- readmit lets spilled jobs in, in their order, as far as there is room.
local function readmit()
  local room, capacity = 100, tonumber(meta[3])
  local live = depth(meta[4]) - call('ZCARD', OVERFLOW)
  if capacity then room = math.min(room, capacity - live) end
  if room <= 0 then return end
  local els, starts = call('ZRANGE', OVERFLOW, 0, room - 1), {}
  for i, el in ipairs(els) do starts[i] = call('GETRANGE', record(id_of(el)), 0, 299) end
  if #els == 0 then return end
  call('ZREM', OVERFLOW, unpack(els))
  for i, el in ipairs(els) do
    local at = starts[i] ~= '' and due_of(starts[i]) or 0
    if at > now then call('ZADD', DUE, at, el) else place(el) end
  end
  if capacity then raise(live + #els) end
end

-- sweep clears what ended jobs left whose retention is over.
local function sweep()
  local els = call('ZRANGEBYSCORE', DONE, '-inf', now, 'LIMIT', 0, 100)
  if #els == 0 then return end
  local mine, gone = own(els)
  if #gone > 0 then call('ZREM', DONE, unpack(gone)) end
  for _, job in ipairs(mine) do
    call('UNLINK', record(job.id), result(job.id))
    clear({job.id})
  end
end

-- turn begins a new generation of the settled window when the current one is old or full.
local function turn(which, name, generations, at, span)
  local current = turns[which] == '1' and 2 or 1
  local full = tonumber(meta[6] or 1000000)
  at = tonumber(at or meta[5])
  if now < at + span and not (full and call('HLEN', generations[current]) >= full) then return end
  turns[which] = current == 1 and '1' or '0'
  call('UNLINK', generations[3 - current])
  call('HSET', META, name, turns[which], name .. '_at', math.max(at, now), name .. '_before', at)
end

local function turn_both()
  local m = call('HMGET', META, 'gen_at', 'window_generated', 'named_at', 'window_named')
  turn(1, 'gen', {GEN0, GEN1}, m[1], tonumber(m[2]) or 60000)
  turn(2, 'named', {NAMED0, NAMED1}, m[3], tonumber(m[4]) or HOUR)
end

-- retire forgets workers that have not claimed for an hour.
local function retire()
  local some, old = call('HRANDFIELD', CLAIMS, 16, 'WITHVALUES'), {}
  for i = 1, #some, 2 do
    local at = tonumber(string.match(some[i + 1], '^%d+ (%d+)')) or 0
    if at < now - HOUR and some[i] ~= WORKER then old[#old + 1] = some[i] end
  end
  if #old > 0 then call('HDEL', CLAIMS, unpack(old)) end
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
if meta[5] then turn_both() end
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

if MOST > 0 and not meta[1] then choose() end
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
if meta[1] then
  out[1] = 'paused'
else
  out[3] = call('LLEN', READY) + (special == false and 0 or call('ZCARD', URGENT))
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
