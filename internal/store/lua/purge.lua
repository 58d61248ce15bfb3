-- purge.lua deletes jobs of one state, a bounded number a call.
-- ARGV: tag, state (ready | scheduled | retry | parked | spilled | dead | ended), most (to 500)
-- Reply: now, deleted, left of this state
-- Promise: as delete without options; active jobs are not touched.
local STATES = {ready = {READY, URGENT, SUSPECTS}, scheduled = {DUE}, retry = {RETRY}, parked = {PARKED},
  spilled = {OVERFLOW}, dead = {DEAD}, ended = {DONE}}
local STATE, most = ARGV[2], math.min(tonumber(ARGV[3]), 500)
local deleted, looked = 0, 0

-- drop deletes what the elements stand for. Ghosts only leave the list; records of a newer format stay, those in the
-- list as parked. It tells how many stay in the index.
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
  if key ~= READY then return #els - #gone end
  fewer_ghosts(ghosts)
  local goes = {}
  for _, el in ipairs(gone) do goes[el] = true end
  for _, el in ipairs(els) do
    if not goes[el] then call('ZADD', PARKED, 0, el) end
  end
  return 0
end

-- page gives elements from a rank on.
local function page(key, from, n)
  return call(key == READY and 'LRANGE' or 'ZRANGE', key, from, from + n - 1)
end

local left = 0
for _, key in ipairs(STATES[STATE]) do
  local from, pages = 0, 0
  while looked < most and pages < 20 do -- records of a newer format may fill the first pages
    local els = page(key, from, most - looked)
    if #els == 0 then break end
    local stay = drop(key, els)
    looked, from, pages = looked + #els - stay, from + stay, pages + 1
  end
  left = left + (key == READY and call('LLEN', key) or call('ZCARD', key))
end
if STATE ~= 'dead' and STATE ~= 'ended' then count('deleted', deleted) end
announce()
return {now, deleted, left}
