-- promote.lua makes scheduled and retrying jobs ready now.
-- ARGV: tag, id...
-- Reply: now, then a word a job, or one for all: promoted | state (not waiting for a time) | gone | newer
local function promote(id, rec, state, key, el, run)
  if not rec then return 'gone' end
  if state ~= 'scheduled' and state ~= 'retry' then return 'state' end
  call('ZREM', key, el)
  if run.c > 1 then call('ZADD', SUSPECTS, now, el) else place(el) end
  ring()
  return 'promoted'
end
return many(2, promote)
