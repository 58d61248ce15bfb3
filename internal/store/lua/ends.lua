-- ends.lua tells how jobs ended, for those who wait for many. It writes nothing.
-- ARGV: tag, most bytes of results, id...
-- Reply: now, then two a job: word, detail. Word: lives (not ended)
--        | completed (detail: the result as it is stored; "": none, or not kept any more)
--        | more (completed, and the results before it fill this reply: ask again)
--        | cancelled (detail: the reason) | dead (detail: its last error line) | deleted | gone (nothing is known)
-- Promise: a job that has a record is never judged by an older entry of the window; one result always comes.
local BYTES, ids = tonumber(ARGV[2]), {unpack(ARGV, 3)}
local LETTERS = {c = 'completed', x = 'cancelled', d = 'deleted'}
local ENDS = {completed = 'completed', cancelled = 'cancelled', dead = 'dead'}
local runs, remembered = call('HMGET', RUNS, unpack(ids)), {}
-- An ID may stand in both windows only where it was drawn at random after somebody gave it: that one came later.
for _, key in ipairs({NAMED0, NAMED1, GEN0, GEN1}) do
  for i, entry in ipairs(call('HMGET', key, unpack(ids))) do
    if entry then remembered[i] = LETTERS[sub(entry, 12, 12)] end
  end
end

-- Jobs that look alike are asked for together: mostly one call tells of all of them whether they have a record.
local has, meta = {}, call('EXISTS', META)
local function ask(group)
  if #group == 0 then return end
  local names = {}
  for k, i in ipairs(group) do names[k] = record(ids[i]) end
  local n = call('EXISTS', META, unpack(names)) - meta
  for k, i in ipairs(group) do has[i] = n == #group or n > 0 and call('EXISTS', META, names[k]) > meta end
end
local claimed, ended, others = {}, {}, {}
for i = 1, #ids do
  local group = runs[i] and claimed or remembered[i] and ended or others
  group[#group + 1] = i
end
ask(claimed)
ask(ended)
ask(others)

local words, details = {}, {}
for i = 1, #ids do
  local outcome = ENDS[string.match(runs[i] or '', '^%d+ %d+ %d+ %d+ %S+ (%S+)') or '']
  if has[i] then words[i] = outcome or 'lives' else words[i] = remembered[i] or outcome or 'gone' end
end

-- those gives the jobs of a word for which more than the window is known.
local function those(word)
  local places, names = {}, {}
  for i, id in ipairs(ids) do
    if words[i] == word and runs[i] then
      places[#places + 1] = i
      names[#names + 1] = id
    end
  end
  return places, names
end

local function explain(word, key, pattern)
  local places, names = those(word)
  if #places == 0 then return end
  for k, value in ipairs(call('HMGET', key, unpack(names))) do
    details[places[k]] = value and (string.match(value, pattern) or value)
  end
end
explain('cancelled', CANCELS, '^%d+ (.*)$')
explain('dead', FAULTS, '.*\n(.*)$')

local bytes = 0
local function add_results(places, names)
  local values = call('MGET', META, unpack(names))
  for k, i in ipairs(places) do
    if bytes >= BYTES then
      words[i] = 'more'
    else
      details[i] = values[k + 1]
      bytes = bytes + #(details[i] or '')
    end
  end
end
local places, names = those('completed')
for from = 1, #places, 16 do -- results may be large
  local some, keys = {}, {}
  for k = from, math.min(from + 15, #places) do
    some[#some + 1] = places[k]
    keys[#keys + 1] = result(names[k])
  end
  if bytes < BYTES then
    add_results(some, keys)
  else
    for _, i in ipairs(some) do words[i] = 'more' end
  end
end

local out = {now}
for i = 1, #ids do
  out[2 * i] = words[i]
  out[2 * i + 1] = details[i] or ''
end
return out
