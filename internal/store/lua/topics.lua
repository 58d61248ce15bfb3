-- topics.lua stands before the scripts that know topics. A topic's tag is "wb:{orders}:topic:", that of a subscription
-- "wb:{orders}:sub:billing:", a queue's own "wb:{mail}:"; the first two stand on the keys of the topic.
local BASE = string.match(TAG, '^(.*{[^}]*}:)%l+:')
local STREAM, SUBS, TOPIC = (BASE or '') .. 'stream', (BASE or '') .. 'subs', (BASE or '') .. 'topic:meta'
local ENDED = (BASE or '') .. 'topic:ended' -- names of subscriptions that were ended, by time
local TRIM, SPEND = 20000, 5000 -- most entries cut in one call, and how long it may take, microseconds

local function meta_of(name) return BASE .. 'sub:' .. name .. ':meta' end

-- touch fails before the first write where the slot is on the move.
local function touch() call('EXISTS', META, STREAM, SUBS, TOPIC, BASE .. 'topic:stats', BASE .. 'topic:ignored', ENDED) end

-- placed tells whether a cursor is an entry's ID, and not what somebody wrote there.
local function placed(cursor) return cursor and string.find(cursor, '^%d+%-%d+$') end

-- lower compares two numbers in digits, of any size.
local function lower(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

-- before tells whether an entry's ID is lower than another.
local function before(a, b)
  local a_ms, a_seq = string.match(a, '^(%d+)-(%d+)$')
  local b_ms, b_seq = string.match(b, '^(%d+)-(%d+)$')
  if a_ms ~= b_ms then return lower(a_ms, b_ms) end
  return lower(a_seq, b_seq)
end

-- up is one more than a number in digits, of any size.
local function up(digits)
  local head, nines = string.match(digits, '^(%d-)(9*)$')
  local zeros = string.rep('0', #nines)
  if head == '' then return '1' .. zeros end
  return sub(head, 1, -2) .. (byte(head, -1) - 47) .. zeros
end

-- behind is the lowest ID above another.
local function behind(id)
  local ms, seq = string.match(id, '^(%d+)-(%d+)$')
  if seq == '18446744073709551615' then return up(ms) .. '-0' end
  return ms .. '-' .. up(seq)
end

-- event reads an entry of the stream: number, event's ID, head, payload; nil where publish did not write it.
local function event(entry)
  local f = entry[2]
  if f[1] ~= 'n' or f[3] ~= 'id' or f[5] ~= 'head' or f[7] ~= 'payload' then return end
  local n, id, head = f[2], f[4], f[6]
  if #n > 15 or #id > 128 or not string.find(n, '^%d+$') or not string.find(id, '^[^%c ]+$') then return end
  if string.find(head, '^[gn]%-...........[^%c ]') then return tonumber(n), id, head, f[8] end
end

-- near is the first event from one end of a range on: its ID and its number. It is one of the next thousand entries, or none.
local function near(command, from, to)
  for _, most in ipairs({1, 9, 90, 900}) do -- mostly it is the first, and entries may be large
    local entries = call(command, STREAM, from, to, 'COUNT', most)
    for _, entry in ipairs(entries) do
      local n = event(entry)
      if n then return entry[1], n end
    end
    if #entries < most then return end
    from = '(' .. entries[most][1]
  end
end

-- dict is a flat reply of names and values, as a table.
local function dict(flat)
  local t = {}
  for i = 1, #flat, 2 do t[flat[i]] = flat[i + 1] end
  return t
end

-- groups are the consumer groups of the stream; empty where there is no stream.
local function groups()
  local all = redis.pcall('XINFO', 'GROUPS', STREAM)
  local out = {}
  if all.err then return out end
  for i, flat in ipairs(all) do out[i] = dict(flat) end
  return out
end

-- wants is the lowest ID that a group of somebody else's still wants.
local function wants(group)
  if group.pending > 0 then return call('XPENDING', STREAM, group.name)[2] or behind(group['last-delivered-id']) end
  return behind(group['last-delivered-id'])
end

-- holders lists who holds the stream: {wanted ID, name, of a subscription}, the slowest first. Beside it: names that are
-- ignored no longer, since their group caught up or is gone.
local function holders()
  local out, mine, ignored = {}, {}, dict(call('HGETALL', BASE .. 'topic:ignored'))
  local last = call('HGET', TOPIC, 'last')
  for _, name in ipairs(call('HKEYS', SUBS)) do
    local m = call('HMGET', meta_of(name), 'cursor', 'detached')
    mine[name] = 'known'
    if not m[2] and placed(m[1]) then
      out[#out + 1] = {behind(m[1]), name, true}
    elseif not m[2] then -- its cursor is lost
      out[#out + 1] = {'0-0', name, true}
      mine[name] = out[#out]
    end
  end
  for _, group in ipairs(groups()) do
    local name, own = group.name, mine[group.name]
    if not own then
      local wanted = wants(group)
      if not ignored[name] or last and before(last, wanted) then
        out[#out + 1] = {wanted, name, false}
      else
        ignored[name] = nil
      end
    elseif own ~= 'known' then
      own[1] = behind(group['last-delivered-id'])
    end
  end
  table.sort(out, function(a, b) return before(a[1], b[1]) end)
  local again = {}
  for name in pairs(ignored) do again[#again + 1] = name end
  return out, again
end

-- cut_below takes away what lies below an ID, or beyond a number of entries: whole nodes, which is cheap, and at last the
-- rest. A step is as large as the ones before it were quick, since the entries may be large. It tells how many it cut, and
-- whether there is more to cut.
local function cut_below(how, mark)
  local function clock()
    local t = call('TIME')
    return t[1] * 1000000 + t[2]
  end
  local start, n, limit = clock(), 0, 10
  while n < TRIM do
    local cut = call('XTRIM', STREAM, how, '~', mark, 'LIMIT', limit)
    n = n + cut
    local spent = clock() - start
    if limit >= 100 and cut <= limit - 100 then -- not the limit ended it
      return n + call('XTRIM', STREAM, how, '=', mark), false
    end
    if spent > SPEND and n > 0 then return n, true end
    if cut == 0 or spent * 10 < SPEND then limit = math.min(limit * 10, TRIM) end
  end
  return n, true
end

-- keep cuts the stream below what its holders want, and by age and count where the owner asked for it. It tells how many
-- entries it cut, whether there is more to cut, and who holds the stream.
local function keep()
  local s = call('HMGET', TOPIC, 'keep', 'max_age', 'max_events')
  local stay, age, most = tonumber(s[1]), tonumber(s[2]), tonumber(s[3])
  local list, again = holders()
  if #again > 0 then call('HDEL', BASE .. 'topic:ignored', unpack(again, 1, math.min(#again, 1000))) end
  local low = list[1] and list[1][1]
  if low and stay and stay > 0 then
    local since = string.format('%.0f-0', math.max(0, now - stay))
    if before(since, low) then low = since end
  end
  if age then
    local since = string.format('%.0f-0', math.max(0, now - age))
    if not low or before(low, since) then low = since end
  end
  local n, more = 0, false
  if low then n, more = cut_below('MINID', low) end
  if most and not more and call('XLEN', STREAM) > most then
    local cut
    cut, more = cut_below('MAXLEN', s[3])
    n = n + cut
  end
  call('HSET', TOPIC, 'kept', more and now - 200 or now)
  if n > 0 then call('HINCRBY', BASE .. 'topic:stats', 'cut', n) end
  return n, more, list
end

-- keep_at_times is keep, four times a second; twenty times while there is much to cut. It stands at the end of scripts that
-- have done their work, and is never their failure: a trim tells why nothing is cut.
local function keep_at_times(kept)
  kept = tonumber(kept or 0)
  if now >= kept + 250 or now < kept then pcall(keep) end
end
