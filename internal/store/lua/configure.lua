-- configure.lua changes settings of a queue: fields of meta.
-- ARGV: tag, then field and value; an empty value removes the field, so the default holds.
-- Reply: now
local resumed = false
for i = 2, #ARGV, 2 do
  if ARGV[i + 1] ~= '' then
    call('HSET', META, ARGV[i], ARGV[i + 1])
  elseif call('HDEL', META, ARGV[i]) == 1 and ARGV[i] == 'paused' then
    resumed = true
  end
end
call('HSETNX', META, 'created', now)
ring() -- a pause may be over, or there is room
if resumed then redis.pcall('PUBLISH', TAG .. 'control', 'resumed') end -- no bell is listened for in a pause
return {now}
