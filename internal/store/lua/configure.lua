-- configure.lua changes settings of a queue: fields of meta.
-- ARGV: tag, then field and value; an empty value removes the field, so the default holds.
-- Reply: now
for i = 2, #ARGV, 2 do
  if ARGV[i + 1] == '' then call('HDEL', META, ARGV[i]) else call('HSET', META, ARGV[i], ARGV[i + 1]) end
end
call('HSETNX', META, 'created', now)
ring() -- a pause may be over, or there is room
return {now}
