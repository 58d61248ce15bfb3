-- claim.lua of the bare layout. KEYS: ready, leases. ARGV: prefix of the records, most jobs, end of the leases in ms.
-- Reply: lease member and record a job. A member is an element with its attempt one higher.
local elements = redis.call('LPOP', KEYS[1], ARGV[2])
if not elements then return {} end
local names, leases = {}, {}
for i, element in ipairs(elements) do
  local id, attempt = string.match(element, '^(.*):(%d+)$')
  names[i] = ARGV[1] .. id
  leases[2 * i - 1], leases[2 * i] = ARGV[3], id .. ':' .. attempt + 1
end
local reply = {}
for i, rec in ipairs(redis.call('MGET', unpack(names))) do
  reply[2 * i - 1], reply[2 * i] = leases[2 * i], rec
end
redis.call('ZADD', KEYS[2], unpack(leases))
return reply
