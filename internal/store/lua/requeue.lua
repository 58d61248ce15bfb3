-- requeue.lua makes dead jobs ready again: an admission, so capacity applies.
-- ARGV: tag, id...
-- Reply: now, then a word a job, or one for all: requeued | full | state (not dead) | gone | newer
-- Promise: failures and crashes count from zero again; attempts, snoozes and errors stay.
local meta = call('HMGET', META, 'capacity', 'ghosts')
local capacity = tonumber(meta[1])
local live = capacity and depth(meta[2]) or 0
local requeued = 0

local function requeue(id, rec, state, key, el, run)
  if not rec then return 'gone' end
  if state ~= 'dead' then return 'state' end
  if capacity and live >= capacity then return 'full' end
  live, requeued = live + 1, requeued + 1
  call('ZREM', DEAD, el)
  run.f, run.c = 0, 0
  save_run(id, run, 'requeued')
  place(el)
  tell(id, string.sub(rec, 28, 40), 'live')
  return 'requeued'
end
local reply = many(2, requeue)
count('requeued', requeued)
if requeued > 0 then
  if capacity then raise(live - call('ZCARD', OVERFLOW)) end
  ring()
end
return reply
