-- enqueue.lua adds jobs, each once. The only script that may be refused for memory.
-- ARGV: tag, policy (reject | spill; behind it " <number> <name>" of the outbox whose jobs these are), then four a job:
--       id, order (class and F or L),
--       delay ("0", ms, or "@" and ms since 1970), blob (see package record).
-- Reply: now, live jobs after it and capacity (both "" where unlimited), for an outbox the jobs ever taken from it and
--        the number of the last word told to any, then a word a job, or one for all:
--        accepted | spilled | duplicate | conflict | full | newer
--        | stranger (no outbox of this name has this number: nothing was done)
-- Promise: all checks and the adding are one step; a repeat of the call adds nothing.
-- Back: "=state at enqueued attempts failures crashes snoozes" in place of the delay, then a line break and the job's
--       error lines, brings a job back as it was exported. State: ready, scheduled or retry
--       (due at), dead (since at), or completed or cancelled, of which only the window's memory comes back. Times in ms.
--       Ready ones stand behind those of their class, in the order given, LIFO ones too. When their last attempts
--       began is not known any more.
local SPILL, n = sub(ARGV[2], 1, 5) == 'spill', (#ARGV - 2) / 4
local BOX, NAME -- number and name of the outbox, where the call is for one
if #ARGV[2] > 6 then BOX, NAME = string.match(ARGV[2], '^%S+ (%w?) ?(.*)$') end
local box = BOX and call('HMGET', META, 'outbox:' .. BOX, 'sent:' .. BOX, 'told')
if BOX and box[1] ~= NAME then return {now, '', '', '', '', 'stranger'} end
local ids, names, named = {}, {META}, false
for i = 1, n do
  local id = ARGV[4 * i - 1]
  ids[i], names[i + 1] = id, JOB .. id
  named = named or byte(ARGV[4 * i + 2]) == 110
end
local present = call('EXISTS', unpack(names)) -- touches too
local meta = call('HMGET', META, 'seq', 'capacity', 'ghosts', 'high')

-- known[i] is how a job with this ID is known: fingerprint, outbox. seen tells which item of this call added an ID.
local known, seen = {}, {}
local function look(key)
  local found = call('HMGET', key, unpack(ids))
  for i = 1, n do
    if found[i] then known[i] = {string.sub(found[i], 1, 11)} end
  end
end
local windows = named and {GEN0, GEN1, NAMED0, NAMED1} or {GEN0, GEN1}
if call('EXISTS', unpack(windows)) > 0 then
  for _, key in ipairs(windows) do look(key) end
end
if present > 1 or not meta[1] then
  for i = 1, n do
    local rec = call('GETRANGE', names[i + 1], 0, 39)
    if rec ~= '' and string.byte(rec) ~= 49 then
      known[i] = {'newer'}
    elseif rec ~= '' then
      known[i] = {string.sub(rec, 30), string.sub(rec, 29, 29)}
    end
  end
end

-- told says whether word of a job waits for its outbox; all IDs of the call are asked for together.
local unread = {}
local function told(outbox, i)
  unread[outbox] = unread[outbox] or call('HMGET', TAG .. 'told:' .. outbox, unpack(ids))
  return unread[outbox][i]
end

local function known_by(blob) return {sub(blob, 3, 13), sub(blob, 2, 2)} end

-- judge says what a known ID answers.
local function judge(i, blob, old)
  if old[1] == 'newer' then return 'newer' end
  if old[1] ~= string.sub(blob, 3, 13) then return 'conflict' end
  if old[2] and old[2] ~= string.sub(blob, 2, 2) then return 'conflict' end
  return 'duplicate'
end

local capacity = tonumber(meta[2])
local live, spilled = 0, 0
if capacity then live, spilled = depth(meta[3]) end
local seq = tonumber(meta[1]) or 0
local words, sets, ready, spills, later, back, ended, gone = {}, {}, {}, {}, {}, {}, {}, {}
local stamp = string.format('%011x', now)
local tally = {accepted = 0, duplicate = 0, conflict = 0, full = 0, newer = 0}
local wake = false

local function schedule(el, delay)
  local at = string.byte(delay) == 64 and tonumber(string.sub(delay, 2)) or now + tonumber(delay)
  if at <= now then
    wake = true
    later[#later + 1] = {false, 0, el}
  else
    wake = wake or earlier(DUE, at)
    later[#later + 1] = {DUE, at, el}
  end
end

-- digits writes a sequence number: all but its last digit once for sixteen jobs.
local upper
local function digits(number)
  local last = number % 16
  if last == 0 or not upper then upper = string.format('%010x', (number - last) / 16) end
  return upper .. sub('0123456789abcdef', last + 1, last + 1)
end

-- brought reads what stands for the delay of a job that is brought back; nil for any other.
local function brought(delay)
  if byte(delay) ~= 61 then return nil end
  local b = {}
  b.state, b.at, b.enqueued, b.counts, b.faults =
    string.match(delay, '^=(%l+) (%d+) (%d+) (%d+ %d+ %d+ %d+)\n?(.*)$')
  b.at, b.attempts, b.crashes = tonumber(b.at), tonumber(string.match(b.counts, '^%d+')), tonumber(string.match(b.counts, '(%d+) %d+$'))
  b.ended = b.state == 'completed' or b.state == 'cancelled'
  return b
end

local function add(i, id, order, delay, blob, spill, b)
  seq = seq + 1
  live = live + 1
  local head = order .. digits(seq)
  local el = head .. ':' .. id
  local k = #sets
  sets[k + 1], sets[k + 2] = names[i + 1], '1' .. head .. (b and string.format('%011x', tonumber(b.enqueued)) or stamp) .. blob
  if b then
    b.id, b.el = id, el
    back[#back + 1] = b
    if b.state == 'dead' then live = live - 1 end
  elseif spill then
    spills[#spills + 1] = seq
    spills[#spills + 1] = el
  elseif delay ~= '0' then
    schedule(el, delay)
  elseif order == '3e8F' then
    ready[#ready + 1] = el
  else
    wake = true
    later[#later + 1] = {false, 0, el}
  end
end

for i = 1, n do
  local at = 4 * i - 1
  local id, blob = ids[i], ARGV[at + 3]
  local old = seen[id] and known_by(ARGV[4 * seen[id] + 2]) or gone[id] or known[i]
  local b = brought(ARGV[at + 2])
  local lives = not b or not b.ended and b.state ~= 'dead' -- takes room
  local word
  if not old and byte(blob, 2) ~= 45 and told(sub(blob, 2, 2), i) then
    word = 'duplicate'
  elseif old then
    word = judge(i, blob, old)
  elseif capacity and live >= capacity and lives and (b or not SPILL) then
    word = 'full'
  elseif b and b.ended then
    word = 'accepted'
    ended[#ended + 1] = {id, blob, b.state == 'completed' and 'c-' or 'x-'}
    gone[id] = {sub(blob, 3, 13)}
  else
    word = capacity and live >= capacity and not b and 'spilled' or 'accepted'
    add(i, id, ARGV[at + 1], ARGV[at + 2], blob, word == 'spilled', b)
    seen[id] = i
  end
  words[i] = word
  local name = word == 'spilled' and 'accepted' or word
  tally[name] = tally[name] + 1
end

-- leave_nothing clears what an ended job of the same ID left that is not swept yet.
local function leave_nothing()
  if call('EXISTS', DONE) == 0 then return end
  local fresh = {}
  for i = 1, n do
    if (words[i] == 'accepted' or words[i] == 'spilled') and not gone[ids[i]] then fresh[#fresh + 1] = ids[i] end
  end
  for _, key in ipairs({RUNS, CANCELS, FAULTS, PROGRESS}) do call('HDEL', key, unpack(fresh)) end
end

-- line_up puts a job that is brought back behind those of its class, whatever its order, so that they stand as they stood.
local function line_up(el)
  local class = sub(el, 1, 3)
  if class == '3e8' then
    call('RPUSH', READY, el)
  else
    call('ZADD', URGENT, tonumber(class, 16) * ONE + HALF + tonumber(sub(el, 5, 15), 16), el)
  end
end

-- bring puts a job that is brought back where it was.
local function bring(b)
  if b.attempts > 0 or b.state == 'dead' then
    call('HSET', RUNS, b.id, b.counts .. ' - ' .. (b.state == 'dead' and 'dead' or 'retry') .. ' 0 ' .. now)
  end
  if b.faults ~= '' then call('HSET', FAULTS, b.id, b.faults) end
  if b.state == 'dead' then
    call('ZADD', DEAD, math.min(b.at, now), b.el)
    count('died', 1)
  elseif b.state ~= 'ready' and b.at > now then
    local key = b.state == 'retry' and RETRY or DUE
    wake = wake or earlier(key, b.at)
    call('ZADD', key, b.at, b.el)
  else
    wake = true
    if b.crashes > 1 then call('ZADD', SUSPECTS, now, b.el) else line_up(b.el) end
  end
end

if #ended > 0 then
  local turns = call('HMGET', META, 'gen', 'named')
  for _, x in ipairs(ended) do
    local window = turns[1] == '1' and GEN1 or GEN0
    if byte(x[2]) == 110 then window = turns[2] == '1' and NAMED1 or NAMED0 end
    call('HSET', window, x[1], sub(x[2], 3, 13) .. x[3])
  end
  call('HSETNX', META, 'created', now)
end
if #sets > 0 then
  call('MSET', unpack(sets))
  leave_nothing()
  local high = capacity and live - spilled - #spills / 2 or 0 -- see raise
  if high > (tonumber(meta[4]) or 0) then
    call('HSET', META, 'seq', seq, 'high', high)
  else
    call('HSET', META, 'seq', seq)
  end
  if seq == tally.accepted - #ended then call('HSETNX', META, 'created', now) end
  if #ready > 0 then call('RPUSH', READY, unpack(ready)) end
  if #spills > 0 then call('ZADD', OVERFLOW, unpack(spills)) end
  for _, x in ipairs(later) do
    if x[1] then call('ZADD', x[1], x[2], x[3]) else place(x[3]) end
  end
  for _, b in ipairs(back) do bring(b) end
  if wake or #ready > 0 then ring() end
end
count('accepted', tally.accepted - #ended)
count('duplicates', tally.duplicate)
count('conflicts', tally.conflict)
count('rejected', tally.full)
local reply = answers(words)
table.insert(reply, 1, now)
table.insert(reply, 2, capacity and live or '')
table.insert(reply, 3, capacity and meta[2] or '')
if BOX then
  local sent = box[2] or 0
  if tally.accepted > 0 then sent = call('HINCRBY', META, 'sent:' .. BOX, tally.accepted) end
  table.insert(reply, 4, sent)
  table.insert(reply, 5, box[3] or 0)
end
return reply
