-- publish.lua adds events to a topic's stream, each once. It may be refused for memory.
-- ARGV: the topic's tag, policy ("reject"; behind it " <number> <name>" of the outbox whose events these are), then four
--       an event: id, order ("3e8F"), bytes of the blob before the payload, blob (see package record)
-- Reply: now, entries of the stream after it and its capacity (the latter "" where unlimited), for an outbox the events
--        ever taken from it and the number of the last word told to any, then a word an event, or one for all:
--        accepted | duplicate | conflict | full | nobody (no subscription, and nothing bounds the stream)
--        | stranger (no outbox of this name has this number: nothing was done)
-- Promise: an entry's ID is above all that any subscription has taken, whatever the clock says; entries are numbered
--          without a gap; a repeat of the call adds nothing.
local n = (#ARGV - 2) / 4
local BOX, NAME -- number and name of the outbox, where the call is for one
if #ARGV[2] > 6 then BOX, NAME = string.match(ARGV[2], '^%S+ (%w?) ?(.*)$') end
local box = BOX and call('HMGET', META, 'outbox:' .. BOX, 'sent:' .. BOX, 'told')
if BOX and box[1] ~= NAME then return {now, '', '', '', '', 'stranger'} end
local meta = call('HMGET', META, 'n', 'last', 'capacity', 'on_full', 'kept', 'max_age', 'max_events', 'created', 'window_count')
local subs = call('HKEYS', SUBS)
local capacity, number, last = tonumber(meta[3]), tonumber(meta[1]), meta[2]
touch()

-- recover finds number and ID of the last event where they are not known: at first, and after a loss.
local function recover()
  local id, top = near('XREVRANGE', '+', '-')
  local info = redis.pcall('XINFO', 'STREAM', STREAM)
  if not info.err then id = dict(info)['last-generated-id'] end
  number, last = top or 0, id or '0-0'
  if last == '' then last = '0-0' end -- what the stand-in says of a stream that is empty
  for _, name in ipairs(subs) do
    local m = call('HMGET', meta_of(name), 'cursor', 'cursor_n')
    if placed(m[1]) and before(last, m[1]) then last = m[1] end
    number = math.max(number, tonumber(m[2] or 0))
  end
end
if not number or not placed(last) then recover() end

local ids, named = {}, false
for i = 1, n do
  ids[i] = ARGV[4 * i - 1]
  named = named or byte(ARGV[4 * i + 2]) == 110
end
local known = {} -- fingerprints by place
for _, key in ipairs({GEN0, GEN1, NAMED0, NAMED1}) do
  if call('EXISTS', key) == 1 then
    for i, entry in ipairs(call('HMGET', key, unpack(ids))) do known[i] = entry and sub(entry, 1, 11) or known[i] end
  end
end

-- let_go makes a holder hold the stream no longer: it loses what is cut before it comes back.
local function let_go(holder)
  if holder[3] then
    call('HSET', meta_of(holder[2]), 'detached', now)
  else
    call('HSET', BASE .. 'topic:ignored', holder[2], now)
  end
  count('detached', 1)
end

-- room is how many entries the stream may take, after what nobody wants is cut; what is wanted goes where the owner said so.
local function room(wanted)
  local free = capacity - call('XLEN', STREAM)
  if free >= wanted then return free end
  local _, _, list = keep()
  free = capacity - call('XLEN', STREAM)

  -- cut goes on until there is enough, or nothing more to cut, and tells whether there is enough.
  local function cut(how, mark)
    local n, more = 0, true
    while more and free < wanted do
      n, more = cut_below(how, mark)
      count('cut', n)
      free = capacity - call('XLEN', STREAM)
    end
    return free >= wanted
  end
  local low = list[1] and list[1][1]
  if low and cut('MINID', low) then return free end -- taken by all: room comes before a time for which they are kept
  if meta[4] ~= 'detach' or #subs == 0 then return free end
  for i, holder in ipairs(list) do
    let_go(holder)
    low = list[i + 1] and list[i + 1][1]
    if low and cut('MINID', low) then return free end
  end
  cut('MAXLEN', string.format('%.0f', capacity - wanted))
  return free
end

local fresh, met = 0, {}
for i = 1, n do
  if not known[i] and not met[ids[i]] then
    met[ids[i]] = true
    fresh = fresh + 1
  end
end
local bounded = capacity or meta[6] or meta[7]
local free = math.huge
if fresh > 0 and capacity then free = room(math.min(fresh, capacity)) end
local ms, seq = string.match(last, '^(%d+)-(%d+)$') -- in digits: what somebody else wrote may be too large for a number

-- step gives the next ID: of now, or of the last entry's time where the clock is behind it.
local function step()
  if now > tonumber(ms) then
    ms, seq = string.format('%.0f', now), 0
  elseif tonumber(seq) < 2 ^ 53 - 1 then
    seq = seq + 1
  else
    ms, seq = up(ms), 0
  end
  return string.format('%s-%.0f', ms, seq)
end

local first = true
local function add(id, head, payload)
  number = number + 1
  local at, word = step(), string.format('%.0f', number)
  if first then -- somebody may have added an entry with an ID of their own
    first = false
    local said = redis.pcall('XADD', STREAM, at, 'n', word, 'id', id, 'head', head, 'payload', payload)
    if type(said) == 'string' then return at end
    if string.find(said.err, 'equal or smaller', 1, true) then
      ms, seq = string.match(dict(call('XINFO', 'STREAM', STREAM))['last-generated-id'], '^(%d+)-(%d+)$')
      at = step()
    end
  end
  return call('XADD', STREAM, at, 'n', word, 'id', id, 'head', head, 'payload', payload)
end

local words, seen, entries = {}, {}, {['g'] = {}, ['n'] = {}}
local tally = {accepted = 0, duplicate = 0, conflict = 0, full = 0, nobody = 0}
for i = 1, n do
  local id, long, blob = ids[i], tonumber(ARGV[4 * i + 1]), ARGV[4 * i + 2]
  local print = sub(blob, 3, 13)
  local old = seen[id] or known[i]
  local word = 'accepted'
  if old then
    word = old == print and 'duplicate' or 'conflict'
  elseif #subs == 0 and not bounded then
    word = 'nobody'
  elseif free <= 0 then
    word = 'full'
  else
    free = free - 1
    last = add(id, sub(blob, 1, 1) .. '-' .. sub(blob, 3, long), sub(blob, long + 1))
    seen[id] = print
    local window = entries[sub(blob, 1, 1)]
    window[#window + 1] = id
    window[#window + 1] = print .. 'e'
  end
  words[i] = word
  tally[word] = tally[word] + 1
end
if tally.accepted > 0 then
  call('HSET', META, 'n', string.format('%.0f', number), 'last', last)
  call('HSETNX', META, 'created', now)
  for letter, flat in pairs(entries) do
    if #flat > 0 then call('HSET', window(letter), unpack(flat)) end
  end
  for _, name in ipairs(subs) do ring(BASE .. 'sub:' .. name .. ':bell') end
end
turn_both(tonumber(meta[8] or now), tonumber(meta[9] or 1000000))
keep_at_times(meta[5])
count('accepted', tally.accepted)
count('duplicates', tally.duplicate)
count('conflicts', tally.conflict)
count('rejected', tally.full + tally.nobody)
local reply = answers(words)
table.insert(reply, 1, now)
table.insert(reply, 2, call('XLEN', STREAM))
table.insert(reply, 3, capacity or '')
if BOX then
  local sent = box[2] or 0
  if tally.accepted > 0 then sent = call('HINCRBY', META, 'sent:' .. BOX, tally.accepted) end
  table.insert(reply, 4, sent)
  table.insert(reply, 5, box[3] or 0)
end
return reply
