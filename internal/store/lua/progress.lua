-- progress.lua notes how far an attempt has come.
-- ARGV: tag, lease member ("token element"), percent, note (opaque, one line)
-- Reply: now, then a word: held | cancelled (written, but a cancel was asked for) | lost (nothing was written)
-- Promise: only the token that holds a lease writes.
local member = ARGV[2]
local id = id_of(string.match(member, ' (.*)$'))
local word = call('HEXISTS', CANCELS, id) == 1 and 'cancelled' or 'held'
if not call('ZSCORE', LEASES, member) then return {now, 'lost'} end
call('HSET', PROGRESS, id, now .. ' ' .. ARGV[3] .. ' ' .. ARGV[4])
return {now, word}
