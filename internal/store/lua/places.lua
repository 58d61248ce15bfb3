-- places.lua stands before the scripts that give a subscription its place in the stream.

-- before_first is the place before all that the stream holds; behind the topic's last event where it holds nothing, so that
-- this event's ID is known by the cursor too.
local function before_first()
  local topic = call('HMGET', TOPIC, 'n', 'last')
  local n = tonumber(topic[1] or 0)
  if call('XLEN', STREAM) == 0 and placed(topic[2]) then return topic[2], n end
  local id, first = near('XRANGE', '-', '+')
  return '0-0', id and first - 1 or n
end

-- place_at is the cursor before a place, and the number of the event there. Nothing where the place is yet to come.
local function place_at(where)
  local topic = call('HMGET', TOPIC, 'n', 'last')
  local n, last = tonumber(topic[1] or 0), topic[2] or '0-0'
  if where == 'beginning' then return before_first() end
  if where == 'now' then return last, n end
  if where == '0-0' then return before_first() end
  if before(last, where) and before(string.format('%.0f-0', now), where) then return nil end
  local id, number = near('XREVRANGE', '(' .. where, '-') -- the event before it
  if id then return id, number end
  return before_first()
end

-- enter sets the group to a cursor, whether it is there or not. The cursor decides; the group shows it to others.
local function enter(name, cursor)
  local said = redis.pcall('XGROUP', 'SETID', STREAM, name, cursor)
  if said.err then redis.pcall('XGROUP', 'CREATE', STREAM, name, cursor, 'MKSTREAM') end
end

-- found is the cursor of a subscription that lost its own: where its group stands, or else the beginning.
local function found(name)
  for _, group in ipairs(groups()) do
    if group.name == name then
      local id, n = near('XREVRANGE', group['last-delivered-id'], '-')
      if id then return group['last-delivered-id'], n end
      local _, first = before_first()
      return group['last-delivered-id'], first
    end
  end
  return before_first()
end
