-- settle.lua of the bare layout. KEYS: leases. ARGV: prefix of the records, then a lease member a job. Reply: jobs
-- that were held. Removing the lease is the check.
local names, members = {}, {}
for i = 2, #ARGV do
  members[i - 1] = ARGV[i]
  names[i - 1] = ARGV[1] .. string.match(ARGV[i], '^(.*):')
end
local held = redis.call('ZREM', KEYS[1], unpack(members))
if held == #members then redis.call('UNLINK', unpack(names)) end
return held
