-- upkeep.lua stands before the claim: its arguments, and what makes work runnable. Any live worker so keeps the queue moving.
local WORKER, NUMBER, MOST, LEASE = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local MAY, BYTES = ARGV[6] == '1', tonumber(ARGV[7])
local function token(attempt) return attempt .. '-' .. WORKER .. '.' .. NUMBER end
local meta = call('HMGET', META, 'paused', 'crash_allowance', 'capacity', 'ghosts', 'created', 'window_count')
local allowance = tonumber(meta[2] or 5) or math.huge -- "unlimited" forgives all
local fresh = false -- suspects or parked jobs wait that some other worker may take
local parked = false -- jobs were set aside in this claim

-- Whole moves, each bounded, each reading before it writes.

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

-- retire forgets workers that have not claimed for an hour.
local function retire()
  local some, old = call('HRANDFIELD', CLAIMS, 16, 'WITHVALUES'), {}
  for i = 1, #some, 2 do
    local at = tonumber(string.match(some[i + 1], '^%d+ (%d+)')) or 0
    if at < now - HOUR and some[i] ~= WORKER then old[#old + 1] = some[i] end
  end
  if #old > 0 then call('HDEL', CLAIMS, unpack(old)) end
end
