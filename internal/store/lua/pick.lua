-- pick.lua stands before the claim: what it takes and what it sets aside, gathered before anything is written.
local events -- where the queue is a subscription: what takes from its topic's stream; see events.lua
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
