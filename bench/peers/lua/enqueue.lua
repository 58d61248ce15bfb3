-- enqueue.lua of the bare layout. KEYS: ready. ARGV: prefix of the records, then id and payload a job. Reply: jobs.
local rows, elements = {}, {}
for i = 2, #ARGV, 2 do
  rows[i - 1], rows[i] = ARGV[1] .. ARGV[i], ARGV[i + 1]
  elements[i / 2] = ARGV[i] .. ':0'
end
redis.call('MSET', unpack(rows))
return redis.call('RPUSH', KEYS[1], unpack(elements)) and #elements
