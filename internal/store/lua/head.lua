-- head.lua stands before every script: the keys, the clock, and what scripts say of elements.
-- KEYS: all fixed keys of the queue, in this order, in every call. ARGV[1]: the queue's tag, "wb:{mail}:".
local READY, URGENT, SUSPECTS, PARKED, DUE, RETRY, OVERFLOW, LEASES, RUNS, CLAIMS, CANCELS, FAULTS,
  PROGRESS, DEAD, DONE, GEN0, GEN1, NAMED0, NAMED1, META, STATS, BELL = unpack(KEYS)
local TAG, call, sub, byte = ARGV[1], redis.call, string.sub, string.byte
local JOB = TAG .. 'job:'
local ONE, HALF = 2 ^ 42, 2 ^ 41 -- scores of one class in URGENT; where its FIFO part begins
local HOUR = 3600000 -- ms
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function record(id) return JOB .. id end
local function result(id) return TAG .. 'result:' .. id end
local function id_of(el) return sub(el, 17) end

-- element is what stands in an index for a job, from its record.
local function element(rec, id)
  return string.sub(rec, 2, 4) .. string.upper(string.sub(rec, 5, 5)) .. string.sub(rec, 6, 16) .. ':' .. id
end

-- place puts an element among the claimable ones: at the end of its class, or at the front.
local function place(el, front)
  local class, order = string.sub(el, 1, 3), string.sub(el, 4, 4)
  if class == '3e8' then
    call((front or order == 'L') and 'LPUSH' or 'RPUSH', READY, el)
    return
  end
  local within = 0
  if not front then
    local seq = tonumber(string.sub(el, 5, 15), 16)
    within = order == 'L' and HALF - seq or HALF + seq
  end
  call('ZADD', URGENT, tonumber(class, 16) * ONE + within, el)
end

-- ring puts the one token into the bell. Speed rests on it and nothing else: what stands there by mistake is no
-- reason for a script to fail.
local function ring(bell)
  bell = bell or BELL
  local n = redis.pcall('LLEN', bell)
  if type(n) == 'table' then
    call('UNLINK', bell)
    n = 0
  end
  if n == 0 then call('LPUSH', bell, '1') end
end

-- earlier tells whether a time comes before all that wait in a zset of times.
local function earlier(key, at)
  local first = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  return not first or at < tonumber(first)
end

-- depth counts the live jobs, and those of them that are spilled.
local function depth(ghosts)
  local n = call('LLEN', READY) - (tonumber(ghosts) or 0) + call('ZCARD', LEASES)
  local others = {URGENT, SUSPECTS, PARKED, DUE, RETRY, OVERFLOW}
  if call('EXISTS', unpack(others)) == 0 then return n, 0 end
  for _, key in ipairs(others) do n = n + call('ZCARD', key) end
  return n, call('ZCARD', OVERFLOW)
end

-- raise keeps the highest number of live jobs that a queue with capacity ever held, without its spill.
local function raise(live)
  if live > (tonumber(call('HGET', META, 'high')) or 0) then call('HSET', META, 'high', live) end
end

-- count adds to a lifetime counter.
local function count(name, n)
  if n ~= 0 then call('HINCRBY', STATS, name, n) end
end

-- fewer_ghosts lowers the count of ghosts. Beyond it there were elements whose records were lost: orphans.
local function fewer_ghosts(n)
  if n == 0 then return end
  local left = call('HINCRBY', META, 'ghosts', -n)
  if left >= 0 then return end
  call('HSET', META, 'ghosts', 0)
  count('orphans', -left)
end

-- answers is the reply to many: one word where all are the same.
local function answers(words)
  for i = 2, #words do
    if words[i] ~= words[1] then return words end
  end
  return {words[1]}
end
