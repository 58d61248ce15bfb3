-- unsubscribe.lua ends a subscription: it takes no more events and holds the stream no longer. Its jobs stay, as those of
-- any queue.
-- ARGV: the subscription's tag, its name
-- Reply: now, then a word: removed | gone (there was none); with removed then: events it had not taken, live jobs, dead jobs
local NAME = ARGV[2]
touch()
local m = call('HMGET', META, 'cursor_n', 'ghosts')
if call('HDEL', SUBS, NAME) == 0 and not m[1] then return {now, 'gone'} end
local lag = math.max(0, (tonumber(call('HGET', TOPIC, 'n')) or 0) - (tonumber(m[1]) or 0))
redis.pcall('XGROUP', 'DESTROY', STREAM, NAME)
call('HDEL', META, 'cursor', 'cursor_n', 'detached', 'lost_from', 'lost_to', 'lost_at')
call('UNLINK', TAG .. 'stalled')
if call('HLEN', ENDED) >= 1000 then call('UNLINK', ENDED) end
call('HSET', ENDED, NAME, now) -- for workers that would make it anew
keep()
return {now, 'removed', lag, (depth(m[2])), call('ZCARD', DEAD)}
