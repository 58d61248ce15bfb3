-- events.lua stands before the claims of subscriptions, and of no other queue: what they take from their topic's stream.
local NAME, at = string.match(TAG, ':([^:]*):$'), call('HMGET', META, 'cursor', 'cursor_n', 'detached', 'top')
local cursor, cursor_n = placed(at[1]) and at[1], tonumber(at[2])
local sets, first_cursor, added, repeated, strange = {}, cursor, 0, 0, 0 -- records of new events; counts
local gap, gap_from, gap_to = 0, nil, nil -- events that were cut before they were taken
local drained, stalled = true, nil -- stalled nil: it was not looked whether there is room
local live, number
touch()
local topic = call('HMGET', TOPIC, 'n', 'kept')
local top = tonumber(at[4]) -- the highest event it ever came by
if not cursor and call('HEXISTS', SUBS, NAME) == 1 then -- it is lost
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

-- look fetches as many as there is room for.
local function look()
  if not cursor or at[3] then return end -- no subscription, or it is detached
  local capacity, room = tonumber(meta[3]), math.huge
  if capacity then
    live = depth(meta[4])
    room = math.max(0, capacity - live)
  end
  drained = room > 0 and taken < MOST and bytes < BYTES
  if drained then fetch(room) end
  stalled = added >= room
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

events = {
  look = look,
  save = function()
    if not cursor then return end
    prepare()
    if added > 0 then save_new() end
  end,
  follow = function() return cursor and follow() or 0 end,
  keep = function()
    if cursor then keep_at_times(topic[2]) end
  end,
}
