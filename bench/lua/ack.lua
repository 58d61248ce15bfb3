-- The bare layout: ends jobs. The member of a lease is `id:attempt`, so its removal is also the check.
-- KEYS: leases. ARGV: prefix of the records, then (id, attempt) a job. Reply: how many were held.
local members, names = {}, {}
for i = 2, #ARGV, 2 do
  members[#members + 1] = ARGV[i] .. ':' .. ARGV[i + 1]
  names[#names + 1] = ARGV[1] .. ARGV[i]
end
local held = redis.call('ZREM', KEYS[1], unpack(members))
if held < #members then return held end
redis.call('UNLINK', unpack(names))
return held
