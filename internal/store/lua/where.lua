-- where.lua stands before the scripts that act on jobs by ID: the place of an ID is its state.
local PLACES = {{'scheduled', DUE}, {'retry', RETRY}, {'dead', DEAD}, {'ready', URGENT}, {'ready', SUSPECTS},
  {'parked', PARKED}, {'spilled', OVERFLOW}, {'ended', DONE}}

-- where tells state, key, element (or lease member) and score of a job, from its record.
-- Nothing is looked for in the READY list: what is nowhere else and did not leave stands there.
local function where(id, rec, run)
  local el = element(rec, id)
  if run.outcome == 'active' then
    local member = run.token .. ' ' .. el
    local deadline = call('ZSCORE', LEASES, member)
    if deadline then return 'active', LEASES, member, deadline end
  end
  for _, place in ipairs(PLACES) do
    local score = call('ZSCORE', place[2], el)
    if score then return place[1], place[2], el, score end
  end
  if string.match(rec, '^....[FL]') then return 'ready', READY, el, '' end
  return 'gone', '', el, ''
end

-- leave takes a waiting job out of its place. In the list its element stays, as a ghost.
local function leave(id, rec, key, el)
  if key ~= READY then
    call('ZREM', key, el)
    return
  end
  call('SETRANGE', record(id), 4, string.lower(string.sub(rec, 5, 5)))
  call('HINCRBY', META, 'ghosts', 1)
end

-- load reads what is known of jobs by ID and touches what may be written: records in order, false where absent.
local function load(ids)
  local names, recs = {}, {}
  for i, id in ipairs(ids) do
    names[#names + 1] = record(id)
    names[#names + 1] = result(id)
  end
  call('EXISTS', META, unpack(names))
  for i, id in ipairs(ids) do
    local rec = call('GETRANGE', record(id), 0, 299)
    recs[i] = rec ~= '' and rec
    if rec ~= '' then touch_outbox(string.sub(rec, 28, 40)) end
  end
  return recs
end

-- many does one thing to each of the IDs from ARGV[first] on: what(id, record, state, key, element, run) gives a word.
-- An ID that comes twice is looked at again: the first time has changed it.
local function many(first, what)
  local ids, words, seen = {unpack(ARGV, first)}, {}, {}
  local recs = load(ids)
  for i, id in ipairs(ids) do
    local rec = recs[i]
    if seen[id] then rec = load({id})[1] end
    seen[id] = true
    if not rec then
      words[i] = what(id)
    elseif string.byte(rec) ~= 49 then
      words[i] = 'newer'
    else
      local run = run_of(id)
      local state, key, el = where(id, rec, run)
      words[i] = what(id, rec, state, key, el, run)
    end
  end
  announce()
  local reply = answers(words)
  table.insert(reply, 1, now)
  return reply
end
