-- settle.lua ends attempts: the only script that does.
-- ARGV: tag, then per item: lease member ("token element"), outcome, keep (13 bytes of the record),
--       and unless the outcome is ack: delay ms, retention ms, result, error line.
--       Outcome: ack (done; nothing kept) | complete (done; kept) | retry | snooze | release | dead | cancel
--       Behind it may stand " <effects> <suppressed> <mismatches>" (1 to 9 digits each): what became of the
--       attempt's effects. They are counted where the answer is done or cancelled.
-- Reply: now, then a word an item, or one for all:
--        done | already (you, before) | stale (another attempt holds or held it) | gone (nothing known)
--        | cancelled (it was to go back, but a cancel was asked for)
--        An error reply where an item has no known outcome or its keep not 13 bytes, or where what stands behind
--        an outcome is not three such numbers: nothing was changed.
-- Promise: check and change are one step; a token that does not hold the lease changes nothing.
local members, outcomes, keeps, extra, n, plain = {}, {}, {}, {}, 0, true
local i, last = 2, #ARGV
local known = {ack = true, complete = true, retry = true, snooze = true, release = true, dead = true, cancel = true}
local tallies -- counts that stand behind outcomes, by item; nil where no outcome has any

-- bare takes the counts off an outcome that is not known as it stands. It tells whether it is known then.
local function bare(k)
  local word, e, s, m = string.match(outcomes[k] or '', '^(%a+) (%d+) (%d+) (%d+)$')
  if not word or #e > 9 or #s > 9 or #m > 9 then return false end
  tallies = tallies or {}
  outcomes[k], tallies[k] = word, {tonumber(e), tonumber(s), tonumber(m)}
  return known[word]
end

while i <= last do
  n = n + 1
  members[n], outcomes[n], keeps[n] = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if not (known[outcomes[n]] or bare(n)) or #(keeps[n] or '') ~= 13 then
    return redis.error_reply('ERR settle: item ' .. n .. ': unknown outcome, or keep is not 13 bytes')
  end
  i = i + 3
  if outcomes[n] ~= 'ack' then
    extra[n], plain = i, false
    i = i + 4
  end
end
local held = call('ZMSCORE', LEASES, unpack(members))
local tokens, ids, names = {}, {}, {}
for k = 1, n do
  local member = members[k]
  local space = string.find(member, ' ', 1, true)
  local id = sub(member, space + 17)
  tokens[k], ids[k], names[k] = sub(member, 1, space - 1), id, JOB .. id
end
if not plain then
  local results = {}
  for k in pairs(extra) do results[#results + 1] = result(ids[k]) end
  call('EXISTS', META, unpack(names))
  call('EXISTS', META, unpack(results))
end

-- refused says why an attempt that holds no lease gets nothing.
local function refused(k)
  local id, ended = ids[k], false
  for _, key in ipairs({GEN0, GEN1, NAMED0, NAMED1}) do
    local entry = call('HGET', key, id)
    if entry and string.sub(entry, 13) == tokens[k] then return 'already' end
    ended = ended or entry
  end
  local run = run_of(id)
  if run.token == tokens[k] and run.outcome ~= 'active' then return 'already' end
  if ended or run.a > 0 or call('EXISTS', names[k], META) == 2 then return 'stale' end
  return 'gone'
end

local words, seen, rest, stale = {}, {}, {}, 0
-- What is acked, as the calls take it: record names, members, IDs, entries of the windows; and those an outbox sent.
local records, gone, done, generated, named, sent, acked = {}, {}, {}, {}, {}, {}, 0

local function ack(k)
  local id, keep = ids[k], keeps[k]
  acked = acked + 1
  records[acked], gone[acked], done[acked] = names[k], members[k], id
  local entries = byte(keep) == 110 and named or generated
  local e = #entries
  entries[e + 1], entries[e + 2] = id, sub(keep, 3) .. 'c' .. tokens[k]
  if byte(keep, 2) ~= 45 then sent[#sent + 1] = k end
end

for k = 1, n do
  if seen[members[k]] then
    words[k] = 'already'
  elseif not held[k] then
    words[k] = refused(k)
    if words[k] == 'stale' then stale = stale + 1 end
  else
    seen[members[k]] = true
    words[k] = 'done'
    touch_outbox(keeps[k])
    if extra[k] then rest[#rest + 1] = k else ack(k) end
  end
end

-- end_acked ends many jobs of which nothing is kept. The first write names the records, so a slot
-- on the move fails it before anything was written.
local function end_acked()
  call('UNLINK', unpack(records))
  call('ZREM', LEASES, unpack(gone))
  clear(done)
  if #generated > 0 then call('HSET', window('g'), unpack(generated)) end
  if #named > 0 then call('HSET', window('n'), unpack(named)) end
  for _, k in ipairs(sent) do tell(ids[k], keeps[k], 'ack') end
  count('completed', acked)
  news[#news + 1] = table.concat(done, ' completed\n') .. ' completed'
end
if acked > 0 then end_acked() end

-- back lets a job go back to wait.
local function back(id, el, outcome, delay, run)
  save_run(id, run, outcome)
  if outcome == 'release' then
    if run.c > 1 then call('ZADD', SUSPECTS, 0, el) else place(el, true) end
    ring()
    return
  end
  local key = outcome == 'retry' and RETRY or DUE
  local first = earlier(key, now + delay)
  call('ZADD', key, now + delay, el)
  if first then ring() end
end

local goes_back = {retry = true, snooze = true, release = true}
local function settle(k)
  local id, el, keep, outcome = ids[k], sub(members[k], #tokens[k] + 2), keeps[k], outcomes[k]
  local e = extra[k]
  local delay, ttl, value, line = tonumber(ARGV[e]), tonumber(ARGV[e + 1]), ARGV[e + 2], ARGV[e + 3]
  local run = run_of(id)
  call('ZREM', LEASES, members[k])
  run.token = tokens[k]
  if goes_back[outcome] and call('HEXISTS', CANCELS, id) == 1 then -- a cancel was asked for
    words[k] = 'cancelled'
    finish(id, el, keep, 'cancelled', run, math.max(retention(call('GETRANGE', names[k], 0, 299)), HOUR))
  elseif outcome == 'complete' then
    if value ~= '' and ttl > 0 then call('SET', result(id), value, 'PX', ttl) end
    finish(id, el, keep, 'completed', run, ttl)
  elseif outcome == 'cancel' then
    call('HSETNX', CANCELS, id, now .. ' ' .. line)
    finish(id, el, keep, 'cancelled', run, math.max(ttl, HOUR))
  elseif outcome == 'dead' then
    run.f = run.f + 1
    count('failures', 1)
    fault(id, line)
    bury(id, el, keep, run)
  else
    if outcome == 'retry' then
      run.f = run.f + 1
      count('failures', 1)
      fault(id, line)
    elseif outcome == 'snooze' then
      run.s = run.s + 1
      count('snoozes', 1)
    else
      count('released', 1)
    end
    back(id, el, outcome, delay, run)
  end
end
for _, k in ipairs(rest) do settle(k) end
if #rest > 0 then cut(math.max(#rest, 100)) end
count('stale', stale)

-- count_effects adds what the attempts told whose end this call recorded.
local function count_effects()
  local effects, suppressed, mismatches = 0, 0, 0
  for k, t in pairs(tallies) do
    if words[k] == 'done' or words[k] == 'cancelled' then
      effects, suppressed, mismatches = effects + t[1], suppressed + t[2], mismatches + t[3]
    end
  end
  count('effects', effects)
  count('suppressed', suppressed)
  count('mismatches', mismatches)
end
if tallies then count_effects() end
if call('EXISTS', OVERFLOW, TAG .. 'stalled') > 0 then ring() end -- there may be room now
announce()
local reply = answers(words)
table.insert(reply, 1, now)
return reply
