-- purge.lua deletes jobs of one state, a bounded number a call.
-- ARGV: tag, state (ready | scheduled | retry | parked | spilled | dead | ended), most (to 500)
-- Reply: now, deleted, left of this state
-- Promise: as delete without options; active jobs are not touched.
local STATES = {ready = {READY, URGENT, SUSPECTS}, scheduled = {DUE}, retry = {RETRY}, parked = {PARKED},
  spilled = {OVERFLOW}, dead = {DEAD}, ended = {DONE}}
local STATE, most = ARGV[2], math.min(tonumber(ARGV[3]), 500)
local deleted, looked = 0, 0

-- drop deletes what the elements stand for. Ghosts only leave the list; records of a newer format stay, those in the
-- list as parked.
local function drop(key, els)
  local mine, gone = own(els)
  if key == READY then
    call('LTRIM', READY, #els, -1)
  elseif #gone > 0 then
    call('ZREM', key, unpack(gone))
  end
  local ghosts = #gone
  for _, job in ipairs(mine) do
    if job.keep and (key ~= READY or job.waits) then
      call('UNLINK', record(job.id), result(job.id))
      clear({job.id})
      if STATE ~= 'ended' then
        remember(job.id, job.keep, 'd', '-')
        tell(job.id, job.keep, 'deleted')
        news[#news + 1] = job.id .. ' deleted'
      end
      deleted, ghosts = deleted + 1, ghosts - 1
    elseif not job.keep and key ~= READY then -- the record went by its time
      clear({job.id})
    end
  end
  if key ~= READY then return end
  fewer_ghosts(ghosts)
  if #gone == #els then return end
  local goes = {}
  for _, el in ipairs(gone) do goes[el] = true end
  for _, el in ipairs(els) do
    if not goes[el] then call('ZADD', PARKED, tonumber(string.sub(el, 5, 15), 16), el) end
  end
end

local left = 0
for _, key in ipairs(STATES[STATE]) do
  local room = most - looked
  if room > 0 then
    local els = key == READY and call('LRANGE', key, 0, room - 1) or call('ZRANGE', key, 0, room - 1)
    looked = looked + #els
    if #els > 0 then drop(key, els) end
  end
  left = left + (key == READY and call('LLEN', key) or call('ZCARD', key))
end
if STATE ~= 'dead' and STATE ~= 'ended' then count('deleted', deleted) end
announce()
return {now, deleted, left}
