-- topics.lua stands before the scripts that know topics. A topic's tag is "wb:{orders}:topic:", that of a subscription
-- "wb:{orders}:sub:billing:", a queue's own "wb:{mail}:"; the first two stand on the keys of the topic.
local BASE = string.match(TAG, '^(.*{[^}]*}:)%l+:')
local STREAM, SUBS, TOPIC = (BASE or '') .. 'stream', (BASE or '') .. 'subs', (BASE or '') .. 'topic:meta'
local TRIM = 20000 -- most entries cut in one call, about 4 ms

local function meta_of(name) return BASE .. 'sub:' .. name .. ':meta' end

-- before tells whether an entry's ID is lower than another.
local function before(a, b)
  local a_ms, a_seq = string.match(a, '^(%d+)-(%d+)$')
  local b_ms, b_seq = string.match(b, '^(%d+)-(%d+)$')
  if a_ms ~= b_ms then return tonumber(a_ms) < tonumber(b_ms) end
  return tonumber(a_seq) < tonumber(b_seq)
end

-- behind is the lowest ID above another.
local function behind(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  if #seq > 15 then return string.format('%.0f-0', ms + 1) end
  return ms .. '-' .. string.format('%.0f', seq + 1)
end

-- event reads an entry of the stream: number, event's ID, head, payload; nil where publish did not write it.
local function event(entry)
  local f = entry[2]
  if f and f[1] == 'n' and f[3] == 'id' and f[5] == 'head' and f[7] == 'payload' and #f[4] > 0 and #f[6] > 14 then
    return tonumber(f[2]), f[4], f[6], f[8]
  end
end

-- near is the first event from one end of a range on, among a hundred entries: its ID and its number.
local function near(command, from, to)
  for _, entry in ipairs(call(command, STREAM, from, to, 'COUNT', 100)) do
    local n = event(entry)
    if n then return entry[1], n end
  end
end

-- told is a flat reply of names and values, as a table.
local function told(flat)
  local t = {}
  for i = 1, #flat, 2 do t[flat[i]] = flat[i + 1] end
  return t
end

-- groups are the consumer groups of the stream; empty where there is no stream.
local function groups()
  local all = redis.pcall('XINFO', 'GROUPS', STREAM)
  local out = {}
  if all.err then return out end
  for i, flat in ipairs(all) do out[i] = told(flat) end
  return out
end

-- wants is the lowest ID that a group of somebody else's still wants.
local function wants(group)
  if group.pending > 0 then return call('XPENDING', STREAM, group.name)[2] or behind(group['last-delivered-id']) end
  return behind(group['last-delivered-id'])
end

-- holders lists who holds the stream: {wanted ID, name, of a subscription}, the slowest first.
local function holders()
  local out, mine, ignored = {}, {}, told(call('HGETALL', BASE .. 'topic:ignored'))
  for _, name in ipairs(call('HKEYS', SUBS)) do
    local m = call('HMGET', meta_of(name), 'cursor', 'detached')
    mine[name] = m[1] and 'known' or 'lost'
    if m[1] and not m[2] then out[#out + 1] = {behind(m[1]), name, true} end
  end
  for _, group in ipairs(groups()) do
    if mine[group.name] == 'lost' then
      out[#out + 1] = {behind(group['last-delivered-id']), group.name, true}
    elseif not mine[group.name] and not ignored[group.name] then
      out[#out + 1] = {wants(group), group.name, false}
    end
  end
  table.sort(out, function(a, b) return before(a[1], b[1]) end)
  return out
end

-- cut_below takes away what lies below an ID: whole nodes first, which is cheap, and the rest where little is left.
local function cut_below(how, mark)
  local n = call('XTRIM', STREAM, how, '~', mark, 'LIMIT', TRIM)
  if n <= TRIM / 2 then n = n + call('XTRIM', STREAM, how, '=', mark) end
  return n
end

-- keep cuts the stream below what its holders want, and by age and count where the owner asked for it. It tells how many
-- entries it cut, and who holds the stream.
local function keep()
  local s = call('HMGET', TOPIC, 'keep', 'max_age', 'max_events')
  local list = holders()
  local low = list[1] and list[1][1]
  if low and s[1] then
    local since = string.format('%.0f-0', math.max(0, now - s[1]))
    if before(since, low) then low = since end
  end
  if s[2] then
    local since = string.format('%.0f-0', math.max(0, now - s[2]))
    if not low or before(low, since) then low = since end
  end
  local n = low and cut_below('MINID', low) or 0
  if s[3] and call('XLEN', STREAM) > tonumber(s[3]) then n = n + cut_below('MAXLEN', s[3]) end
  call('HSET', TOPIC, 'kept', n > TRIM / 2 and now - 200 or now)
  if n > 0 then call('HINCRBY', BASE .. 'topic:stats', 'cut', n) end
  return n, list
end

-- keep_at_times is keep, four times a second; twenty times while there is much to cut.
local function keep_at_times(kept)
  kept = tonumber(kept or 0)
  if now >= kept + 250 or now < kept then keep() end
end
