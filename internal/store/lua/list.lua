-- list.lua reads one page of an index, in its order. It writes nothing.
-- ARGV: tag, index (a name of KEYS: ready, urgent, due, ...), cursor ("" for the start), most (to 1,000), most bytes,
--       with ("records" | "ids")
-- Reply: now, next cursor ("" at the end), then per job: element or lease member, score, run entry, record
--        (the last two "" with "ids").
-- Ghosts are left out.
-- Promise: no element that stands in the index from first to last page is left out; in the list one may come twice
--          where more than 1,000 jobs left or entered in front between two pages.
local INDEX = {ready = READY, urgent = URGENT, suspects = SUSPECTS, parked = PARKED, due = DUE, retry = RETRY,
  overflow = OVERFLOW, leases = LEASES, dead = DEAD, done = DONE}
local KEY, CURSOR, MOST, BYTES, FULL = INDEX[ARGV[2]], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == 'records'

-- upto compares members as zsets order them: by bytes, whatever the server's locale.
local function upto(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = byte(a, i), byte(b, i)
    if x ~= y then return x < y end
  end
  return #a <= #b
end

-- after_rank is the rank of the first member after (score, member), which may have left since.
local function after_rank(score, member)
  local low, high = 0, call('ZCARD', KEY)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local m = call('ZRANGE', KEY, middle, middle, 'WITHSCORES')
    local s = tonumber(m[2])
    if s < score or (s == score and upto(m[1], member)) then low = middle + 1 else high = middle end
  end
  return low
end

-- after_index is the index after an element of the list, from where it stood: what was claimed since moved it left,
-- what entered in front moved it right.
local function after_index(index, el)
  local low = math.max(index - 1000, 0)
  local near = call('LRANGE', KEY, low, index + 1000)
  for i = #near, 1, -1 do
    if near[i] == el then return low + i end
  end
  return 0
end

local out, page, from = {now, ''}, {}, 0
local position, member = string.match(CURSOR, '^(%S+) (.*)$')
if KEY == READY then
  if position then from = after_index(tonumber(position), member) end
  for _, el in ipairs(call('LRANGE', KEY, from, from + MOST - 1)) do
    page[#page + 1] = el
    page[#page + 1] = ''
  end
else
  if position then from = after_rank(tonumber(position), member) end
  page = call('ZRANGE', KEY, from, from + MOST - 1, 'WITHSCORES')
end

-- ghost tells whether the job of an element of the list has left.
local function ghost(el)
  local start = call('GETRANGE', record(id_of(el)), 0, 15)
  return start == '' or string.byte(start) == 49 and string.sub(start, 2) ~= string.sub(el, 1, 15)
end

local bytes, took = 0, 0
for i = 1, #page, 2 do
  local el = KEY == LEASES and string.match(page[i], ' (.*)$') or page[i]
  local rec, run = '', ''
  if FULL then
    rec = call('MGET', record(id_of(el)), META)[1] or ''
    run = call('HGET', RUNS, id_of(el)) or ''
  end
  if KEY ~= READY or not ghost(el) then
    for _, x in ipairs({page[i], page[i + 1], run, rec}) do out[#out + 1] = x end
  end
  bytes, took = bytes + #rec, took + 1
  if bytes >= BYTES then break end
end
local size = KEY == READY and call('LLEN', KEY) or call('ZCARD', KEY)
if took > 0 and from + took < size then
  local score = KEY == READY and from + took - 1 or page[2 * took]
  out[2] = score .. ' ' .. page[2 * took - 1]
end
return out
