-- subscribe.lua makes a subscription of a topic, at a stated place.
-- ARGV: the subscription's tag, its name, what (create | attach: one that was detached takes part again
--       | remain: create, but for one that was ended), place (beginning | now | an ID: the first entry whose ID is that or higher)
-- Reply: now, then a word: created | exists (nothing changed) | detached (it exists and takes nothing: attach it)
--        | attached | many (the topic has 64) | foreign (somebody else's group has this name)
--        | future (nothing has reached the place yet) | ended (remain: unsubscribe ended it; nothing changed)
--        then cursor, number of the event there, number of the topic's last event, events lost while it was detached
-- Promise: an entry above the place is delivered, whenever the workers come; what exists keeps its place.
local NAME, WHAT, WHERE = ARGV[2], ARGV[3], ARGV[4]
local m = call('HMGET', META, 'cursor', 'cursor_n', 'detached', 'top')
local entered = call('HEXISTS', SUBS, NAME) == 1
touch()

local function reply(word, cursor, n, lost)
  return {now, word, cursor or '', n or '', call('HGET', TOPIC, 'n') or 0, lost or 0}
end

-- set writes a place and lets the workers look.
local function set(cursor, n)
  call('HSET', META, 'cursor', cursor, 'cursor_n', string.format('%.0f', n))
  call('HSETNX', META, 'created', now)
  enter(NAME, cursor)
  ring()
end

local function taken_by_others()
  for _, group in ipairs(groups()) do
    if group.name == NAME then return true end
  end
  return false
end

if m[1] and not placed(m[1]) then m[1] = nil end
if entered and not m[1] then -- its cursor is lost
  local cursor, n = found(NAME)
  set(cursor, n)
  return reply('exists', cursor, n)
end
if m[1] and not (m[3] and WHAT == 'attach') then
  if not entered then call('HSET', SUBS, NAME, now) end -- the list was lost
  enter(NAME, m[1])
  return reply(m[3] and 'detached' or 'exists', m[1], m[2])
end
if WHAT == 'remain' and call('HEXISTS', ENDED, NAME) == 1 then return reply('ended') end
if not m[1] and call('HLEN', SUBS) >= 64 then return reply('many') end
if not m[1] and taken_by_others() then return reply('foreign') end
local cursor, n = place_at(WHERE)
if not cursor then return reply('future') end
if m[1] then -- attach: it goes back to no event that it has taken
  local taken = tonumber(m[2] or 0)
  if before(cursor, m[1]) then cursor = m[1] end
  n = math.max(n, taken)
  local top = math.max(taken, tonumber(m[4] or 0))
  local lost = math.max(0, n - top)
  if lost > 0 then
    call('HSET', META, 'lost_from', top + 1, 'lost_to', n, 'lost_at', now)
    count('lost', lost)
  end
  call('HDEL', META, 'detached')
  set(cursor, n)
  return reply('attached', cursor, n, lost)
end
local last = tonumber(call('HGET', TOPIC, 'n') or 0)
if tonumber(m[4] or 0) > last then call('HSET', META, 'top', last) end -- the topic began anew
set(cursor, n) -- first: without it nobody would know the place
call('HSET', SUBS, NAME, now)
call('HDEL', ENDED, NAME)
return reply('created', cursor, n)
