-- renew.lua extends leases.
-- ARGV: tag, lease in ms, lease members ("token element")...
-- Reply: now, then a word an item, or one for all: held | cancelled (held, but a cancel was asked for) | lost
-- Promise: only the token that holds a lease extends it.
local members, ids, longer, words = {}, {}, {}, {}
for i = 3, #ARGV do
  members[i - 2] = ARGV[i]
  ids[i - 2] = id_of(string.match(ARGV[i], ' (.*)$'))
end
local held = call('ZMSCORE', LEASES, unpack(members))
local asked = call('HMGET', CANCELS, unpack(ids))
local deadline = now + tonumber(ARGV[2])
for i, member in ipairs(members) do
  words[i] = 'lost'
  if held[i] then
    words[i] = asked[i] and 'cancelled' or 'held'
    longer[#longer + 1] = deadline
    longer[#longer + 1] = member
  end
end
if #longer > 0 then call('ZADD', LEASES, 'XX', unpack(longer)) end
local reply = answers(words)
table.insert(reply, 1, now)
return reply
