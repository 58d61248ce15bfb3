-- states.lua tells the states of many jobs. It writes nothing.
-- ARGV: tag, id...
-- Reply: now, then a word a job, or one for all: scheduled | ready | active | retry | parked | spilled | dead
--        | completed | cancelled | deleted (only the window knows it) | gone (nothing is known) | newer
local LETTERS = {c = 'completed', x = 'cancelled', d = 'deleted'}
local ENDS = {completed = 'completed', cancelled = 'cancelled'}
local ids, names, els, words, of, lost = {unpack(ARGV, 2)}, {META}, {}, {}, {}, {}
for i, id in ipairs(ids) do names[i + 1] = record(id) end
call('EXISTS', unpack(names)) -- touches
local runs = call('HMGET', RUNS, unpack(ids))

local function outcome(i)
  local token, word = string.match(runs[i] or '', '^%d+ %d+ %d+ %d+ (%S+) (%S+)')
  return word, token
end

local left = {} -- those that left the list before they were claimed
for i, id in ipairs(ids) do
  local rec = call('GETRANGE', names[i + 1], 0, 15)
  if rec == '' then
    lost[#lost + 1] = i
  elseif byte(rec) ~= 49 then
    words[i] = 'newer'
  else
    els[#els + 1], of[#of + 1] = element(rec, id), i
    left[i] = not string.match(rec, '^....[FL]')
  end
end

-- note gives a word to those of the elements that stand in an index, where they have none yet.
local function note(key, members, word)
  for k, score in ipairs(call('ZMSCORE', key, unpack(members))) do
    if score then words[of[k]] = words[of[k]] or word end
  end
end

if #els > 0 then
  local members = {}
  for k, el in ipairs(els) do
    local _, token = outcome(of[k])
    members[k] = (token or '-') .. ' ' .. el
  end
  note(LEASES, members, 'active')
  for _, place in ipairs(PLACES) do note(place[2], els, place[1]) end
end
for _, i in ipairs(of) do
  if words[i] == 'ended' then
    words[i] = ENDS[outcome(i) or ''] or 'gone'
  elseif not words[i] then
    words[i] = left[i] and 'gone' or 'ready'
  end
end

if #lost > 0 then
  local asked = {}
  for k, i in ipairs(lost) do
    asked[k], words[i] = ids[i], ENDS[outcome(i) or ''] or 'gone' -- its record may have gone by its time
  end
  for _, key in ipairs({NAMED0, NAMED1, GEN0, GEN1}) do
    for k, entry in ipairs(call('HMGET', key, unpack(asked))) do
      if entry then words[lost[k]] = LETTERS[sub(entry, 12, 12)] or words[lost[k]] end
    end
  end
end
local reply = answers(words)
table.insert(reply, 1, now)
return reply
