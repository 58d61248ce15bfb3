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
  if events then events.look() end
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

if meta[1] then
  -- paused
elseif MOST > 0 then
  choose()
elseif events then
  events.look() -- takes nothing, and sees whether something is left
end
if events then events.save() end
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
local unread = events and events.follow() or 0 -- last: an event is passed only when its job is leased or parked
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
if events then events.keep() end
return out
