-- audit.lua looks again, in one step, at what a walk found odd, and mends it when told to.
-- ARGV: tag, mode (look | mend), what, then
--       what = jobs: id...          records that may stand in no index
--       what = runs: id...          run entries, errors, cancels and progress whose record may be missing
--       what = an index: element... elements (lease members) whose record or run entry may be missing
--       what = ghosts: nothing      the count of ghosts, exact where the list has at most 1,000 elements
-- Reply: now, then a finding an item, "" where all is well:
--        unindexed (record in no index; mended: put in front of its class) | left (record of an ended job that would
--        stay for ever; mended: kept an hour) | orphan run (run entry without record; mended: removed)
--        | orphan element (index entry without its record; mended: removed) | unrecorded lease (lease without its run
--        entry; mended: entry written) | ghosts <counted> <found> (mended: set) | newer
local MEND, WHAT = ARGV[2] == 'mend', ARGV[3]
local INDEX = {urgent = URGENT, suspects = SUSPECTS, parked = PARKED, due = DUE, retry = RETRY, overflow = OVERFLOW,
  dead = DEAD, done = DONE}

local function examine_run(id, rec)
  if rec then return '' end
  local known = 0
  for _, key in ipairs({RUNS, FAULTS, CANCELS, PROGRESS}) do known = known + call('HEXISTS', key, id) end
  if known == 0 then return '' end
  local outcome = run_of(id).outcome
  local ended = outcome == 'completed' or outcome == 'cancelled'
  if ended and call('ZCARD', DONE) > 0 then return '' end -- the sweep will come to it
  if MEND then clear({id}) end
  return 'orphan run'
end

local function examine_job(id, rec)
  local run = run_of(id)
  if not rec then return '' end
  if string.byte(rec) ~= 49 then return 'newer' end
  local state, _, el = where(id, rec, run)
  if state == 'gone' then
    if call('PTTL', record(id)) >= 0 then return '' end
    if MEND then
      call('ZADD', DONE, now + HOUR, el)
      call('PEXPIRE', record(id), HOUR)
    end
    return 'left'
  end
  if state ~= 'ready' or call('ZSCORE', URGENT, el) or call('ZSCORE', SUSPECTS, el) then return '' end
  if call('LPOS', READY, el) then return '' end
  if MEND then
    if run.outcome == 'active' then save_run(id, run, 'lost') end
    place(el, true)
    ring()
  end
  return 'unindexed'
end

local function examine_element(key, el)
  local rec = call('GETRANGE', record(id_of(el)), 0, 39)
  if rec ~= '' and string.byte(rec) ~= 49 then return 'newer' end
  if not call('ZSCORE', key, el) then return '' end
  if rec ~= '' and element(rec, id_of(el)) == el then return '' end
  if key == DONE and (tonumber(call('ZSCORE', key, el)) or 0) <= now then return '' end -- expired, not yet swept
  if MEND then call('ZREM', key, el) end
  return 'orphan element'
end

local function examine_lease(member)
  local token, el = string.match(member, '^(%S+) (.*)$')
  local id = id_of(el)
  if not call('ZSCORE', LEASES, member) then return '' end
  if call('EXISTS', record(id), META) < 2 then
    if MEND then
      call('ZREM', LEASES, member)
      clear({id})
    end
    return 'orphan element'
  end
  local run = run_of(id)
  if run.token == token and run.outcome == 'active' then return '' end
  if MEND then
    run.a, run.token, run.started = tonumber(string.match(token, '^%d+')) or 1, token, now
    call('HSET', RUNS, id, running(run.a .. ' ' .. run.f .. ' ' .. run.c .. ' ' .. run.s, token))
  end
  return 'unrecorded lease'
end

local function count_ghosts()
  local counted, found = tonumber(call('HGET', META, 'ghosts') or 0), 0
  if call('LLEN', READY) > 1000 then return '' end
  for _, el in ipairs(call('LRANGE', READY, 0, -1)) do
    local rec = call('GETRANGE', record(id_of(el)), 0, 15)
    if string.sub(rec, 2) ~= string.sub(el, 1, 15) then found = found + 1 end
  end
  if counted == found then return '' end
  if MEND then call('HSET', META, 'ghosts', found) end
  return 'ghosts ' .. counted .. ' ' .. found
end

local reply = {now}
if WHAT == 'ghosts' then
  reply[2] = count_ghosts()
elseif WHAT == 'jobs' or WHAT == 'runs' then
  local ids = {unpack(ARGV, 4)}
  local recs = load(ids)
  local examine = WHAT == 'jobs' and examine_job or examine_run
  for i, id in ipairs(ids) do reply[i + 1] = examine(id, recs[i]) end
else
  for i = 4, #ARGV do
    reply[i - 2] = WHAT == 'leases' and examine_lease(ARGV[i]) or WHAT ~= 'leases' and examine_element(INDEX[WHAT], ARGV[i])
  end
end
return reply
