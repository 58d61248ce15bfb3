-- The bare layout: adds jobs. KEYS: ready. ARGV: prefix of the records, then (id, payload) a job.
local now = redis.call('TIME')[1]
local records, elements = {}, {}
for i = 2, #ARGV, 2 do
  records[#records + 1] = ARGV[1] .. ARGV[i]
  records[#records + 1] = now .. '|' .. ARGV[i + 1]
  elements[#elements + 1] = ARGV[i] .. ':0'
end
redis.call('MSET', unpack(records))
redis.call('RPUSH', KEYS[1], unpack(elements))
return #elements
