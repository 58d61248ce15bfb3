-- The bare layout: leases jobs. KEYS: ready, leases. ARGV: prefix of the records, most jobs, lease in ms.
-- Reply: (id, attempt, record) a job.
local time = redis.call('TIME')
local deadline = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[3])
local elements = redis.call('LRANGE', KEYS[1], 0, ARGV[2] - 1)
if #elements == 0 then return {} end
local names, leases, reply = {}, {}, {}
for i, element in ipairs(elements) do
  local id, attempt = string.match(element, '^(.*):(%d+)$')
  attempt = attempt + 1
  names[i] = ARGV[1] .. id
  leases[#leases + 1] = deadline
  leases[#leases + 1] = id .. ':' .. attempt
  reply[#reply + 1] = id
  reply[#reply + 1] = attempt
  reply[#reply + 1] = false
end
for i, rec in ipairs(redis.call('MGET', unpack(names))) do reply[3 * i] = rec end
redis.call('LTRIM', KEYS[1], #elements, -1)
redis.call('ZADD', KEYS[2], unpack(leases))
return reply
