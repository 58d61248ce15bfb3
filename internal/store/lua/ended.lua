-- ended.lua stands before the scripts that end jobs: the only ways out.
-- A job's keep is the 13 bytes of its record from position 28: source, outbox, fingerprint.
local turns = call('HMGET', META, 'gen', 'named')
local news = {} -- what waiters are told at the end: "id outcome"

-- window is the generation in which an ended job is remembered.
local function window(keep)
  if byte(keep) == 110 then return turns[2] == '1' and NAMED1 or NAMED0 end
  return turns[1] == '1' and GEN1 or GEN0
end

local function remember(id, keep, letter, token)
  call('HSET', window(keep), id, string.sub(keep, 3) .. letter .. token)
end

-- touch_outbox fails before the first write where the slot is on the move.
local function touch_outbox(keep)
  if byte(keep, 2) ~= 45 then call('EXISTS', META, TAG .. 'told:' .. sub(keep, 2, 2)) end
end

-- tell leaves word for the job's outbox, if one sent it.
local function tell(id, keep, word)
  local outbox = string.sub(keep, 2, 2)
  if outbox == '-' then return end
  call('HSET', TAG .. 'told:' .. outbox, id,
    word .. ' ' .. call('HINCRBY', META, 'told', 1) .. ' ' .. now)
end

local function clear(ids)
  call('HDEL', RUNS, unpack(ids))
  if call('EXISTS', CANCELS, FAULTS, PROGRESS) > 0 then
    for _, key in ipairs({CANCELS, FAULTS, PROGRESS}) do call('HDEL', key, unpack(ids)) end
  end
end

-- run splits a run entry: attempts, failures, crashes, snoozes, token, outcome, time of claim.
local function run_of(id)
  local a, f, c, s, token, outcome, started =
    string.match(call('HGET', RUNS, id) or '', '^(%d+) (%d+) (%d+) (%d+) (%S+) (%S+) (%d+)')
  return {a = tonumber(a) or 0, f = tonumber(f) or 0, c = tonumber(c) or 0, s = tonumber(s) or 0,
    token = token or '-', outcome = outcome or '-', started = started or 0}
end

local function save_run(id, run, outcome)
  call('HSET', RUNS, id, run.a .. ' ' .. run.f .. ' ' .. run.c .. ' ' .. run.s .. ' ' .. run.token .. ' ' .. outcome
    .. ' ' .. run.started .. ' ' .. now)
end

-- running is the run entry of an attempt that begins. Blanks make it longer than 64 bytes: up to 512 shorter
-- values are kept in one flat list, and each look-up goes through it from end to end.
local function running(counts, token) return string.format('%-66s', counts .. ' ' .. token .. ' active ' .. now) end

-- retention of a job in ms, from its record.
local function retention(rec)
  return tonumber(string.match(rec, '^[^\n]* r(%x+)', 41) or '0', 16)
end

-- fault keeps the last ten errors of a job, an opaque line each.
local function fault(id, line)
  if line == '' then return end
  local old = call('HGET', FAULTS, id)
  if old then
    local _, n = string.gsub(old, '\n', '')
    if n >= 9 then old = string.gsub(old, '^[^\n]*\n', '', 1) end
    line = old .. '\n' .. line
  end
  call('HSET', FAULTS, id, line)
end

-- finish ends a job as completed or cancelled. ttl: how long it stays readable, ms.
local function finish(id, el, keep, outcome, run, ttl)
  remember(id, keep, outcome == 'completed' and 'c' or 'x', run.token)
  if ttl > 0 then
    call('ZADD', DONE, now + ttl, el)
    call('PEXPIRE', record(id), ttl)
    save_run(id, run, outcome)
    if outcome == 'completed' then call('HDEL', CANCELS, id) end -- it was asked for too late
  else
    call('UNLINK', record(id))
    clear({id})
  end
  tell(id, keep, outcome == 'completed' and 'ack' or outcome)
  count(outcome, 1)
  news[#news + 1] = id .. ' ' .. outcome
end

-- own sorts elements before they leave an index: mine are the jobs whose record is this element's, gone are
-- the elements that may go. A record may be another's: its ID was enqueued again. One of a newer format stays.
local function own(els)
  local names, mine, gone = {META}, {}, {}
  for _, el in ipairs(els) do
    names[#names + 1] = record(id_of(el))
    names[#names + 1] = result(id_of(el))
  end
  call('EXISTS', unpack(names))
  for _, el in ipairs(els) do
    local id = id_of(el)
    local rec = call('GETRANGE', record(id), 0, 39)
    local newer = rec ~= '' and string.byte(rec) ~= 49
    if not newer then gone[#gone + 1] = el end
    if rec ~= '' and not newer and element(rec, id) == el then
      local job = {id = id, keep = string.sub(rec, 28), waits = string.match(rec, '^....[FL]')}
      touch_outbox(job.keep)
      mine[#mine + 1] = job
    elseif rec == '' then
      mine[#mine + 1] = {id = id}
    end
  end
  return mine, gone
end

-- cut forgets dead jobs that are over the count or the age, at most so many.
local function cut(bound)
  local limits = call('HMGET', META, 'dead_count', 'dead_age')
  local most, age = tonumber(limits[1] or 10000), tonumber(limits[2] or 7776000000) -- "unlimited" gives nil
  local els = {}
  local over = most and call('ZCARD', DEAD) - most or 0
  if over > 0 then
    els = call('ZRANGE', DEAD, 0, math.min(over, bound) - 1)
  elseif age then
    els = call('ZRANGEBYSCORE', DEAD, '-inf', now - age, 'LIMIT', 0, bound)
  end
  if #els == 0 then return end
  local mine, gone = own(els)
  if #gone == 0 then return end
  call('ZREM', DEAD, unpack(gone))
  for _, job in ipairs(mine) do
    call('UNLINK', record(job.id))
    if job.keep then
      remember(job.id, job.keep, 'd', '-')
      tell(job.id, job.keep, 'deleted')
    end
    clear({job.id})
  end
  count('dead_cut', #mine)
end

-- bury ends a job as dead. Its record stays and answers a repeated enqueue.
local function bury(id, el, keep, run)
  call('ZADD', DEAD, now, el)
  save_run(id, run, 'dead')
  call('HDEL', CANCELS, id)
  tell(id, keep, 'dead')
  count('died', 1)
  news[#news + 1] = id .. ' dead'
end

-- announce tells the waiters. Last in every script, and never its failure.
local function announce()
  if #news > 0 then redis.pcall('PUBLISH', TAG .. 'ended', table.concat(news, '\n')) end
end
