-- cancel.lua ends waiting jobs as cancelled and asks for it where an attempt runs.
-- ARGV: tag, reason (opaque, one line), id...
-- Reply: now, then a word a job, or one for all: cancelled | requested (active: honoured at the next renewal,
--        retry, snooze, release or take-back) | ended | gone | newer
-- Promise: a cancelled job that waits is never delivered; it stays readable for its retention, at least an hour.
local function cancel(id, rec, state, key, el, run)
  if not rec then return 'gone' end
  if state == 'active' then
    call('HSETNX', CANCELS, id, now .. ' ' .. ARGV[2])
    redis.pcall('PUBLISH', TAG .. 'control', 'cancel ' .. id)
    return 'requested'
  end
  if state == 'dead' or state == 'ended' or state == 'gone' then return 'ended' end
  leave(id, rec, key, el)
  call('HSET', CANCELS, id, now .. ' ' .. ARGV[2])
  finish(id, el, string.sub(rec, 28, 40), 'cancelled', run, math.max(retention(rec), HOUR))
  return 'cancelled'
end
return many(3, cancel)
