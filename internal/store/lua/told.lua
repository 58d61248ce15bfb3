-- told.lua gives an outbox the words that were left for it, and takes away those that it has done with.
-- ARGV: tag, number of the outbox, its name, cursor ("0" for the start), how many words (about; 0: none), then two a word
--       to take away: id, value as it was read...
-- Reply: now, then a word: ok | stranger (no outbox of this name has this number: nothing was done)
--        With ok then: number of the last word told to any outbox, jobs that were taken from this one, words left for it,
--        next cursor ("0" at the end), then two a word: id, value.
-- Promise: a word is taken away only as it was read; one that was overwritten since stays. What stands there from first
--          to last cursor is given at least once.
local NUMBER, NAME, CURSOR, MOST = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local KEY = TAG .. 'told:' .. NUMBER
local meta = call('HMGET', META, 'outbox:' .. NUMBER, 'told', 'sent:' .. NUMBER)
if meta[1] ~= NAME then return {now, 'stranger'} end
call('EXISTS', META, KEY) -- touches

local ids, goes = {}, {}
for i = 6, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
if #ids > 0 then
  for i, value in ipairs(call('HMGET', KEY, unpack(ids))) do
    if value == ARGV[5 + 2 * i] then goes[#goes + 1] = ids[i] end
  end
end
if #goes > 0 then call('HDEL', KEY, unpack(goes)) end

local page = {'0', {}}
if MOST > 0 then page = call('HSCAN', KEY, CURSOR, 'COUNT', MOST) end
local out = {now, 'ok', meta[2] or 0, meta[3] or 0, call('HLEN', KEY), page[1]}
for i, x in ipairs(page[2]) do out[6 + i] = x end
return out
