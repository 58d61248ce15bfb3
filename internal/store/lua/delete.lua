-- delete.lua removes jobs and all that belongs to them.
-- ARGV: tag, options ("force", "forget", "force,forget" or ""), id...
-- Reply: now, then a word a job, or one for all: deleted | active (refused: not forced) | forgotten | gone | newer
-- Promise: a deleted job is remembered within the window, so a late repeat of its enqueue is a duplicate,
--          unless "forget"; "force" makes the token of a running attempt stale.
local FORCE, FORGET = string.find(ARGV[2], 'force', 1, true), string.find(ARGV[2], 'forget', 1, true)

local LETTERS = {completed = 'c', cancelled = 'x'}

local function forget(id)
  local n = 0
  for _, key in ipairs({GEN0, GEN1, NAMED0, NAMED1}) do n = n + call('HDEL', key, id) end
  return n
end

local function delete(id, rec, state, key, el, run)
  if not rec then
    if FORGET and forget(id) > 0 then return 'forgotten' end
    return 'gone'
  end
  if state == 'active' and not FORCE then return 'active' end
  local live = state ~= 'dead' and state ~= 'ended' and state ~= 'gone'
  if state ~= 'gone' then leave(id, rec, key, el) end
  call('UNLINK', record(id), result(id))
  clear({id})
  local keep = string.sub(rec, 28, 40)
  if FORGET then
    forget(id)
  elseif state == 'ended' then -- the record stood in for the window, which may have turned
    remember(id, keep, LETTERS[run.outcome] or 'd', run.token)
  else
    remember(id, keep, 'd', '-')
  end
  if live or state == 'dead' then
    tell(id, keep, 'deleted')
    news[#news + 1] = id .. ' deleted'
  end
  if live then count('deleted', 1) end
  return 'deleted'
end
return many(3, delete)
