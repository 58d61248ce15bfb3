-- outbox.lua makes an outbox known to the queue, or lets the queue forget it.
-- ARGV: tag, what (enter | forget), name
-- Reply: now, then a word: entered | known (it has its number since before) | crowded (all 62 numbers are taken)
--        | forgotten, with its words | stranger (it was not known)
--        With entered and known then: number of the last word told to any outbox, and as outboxes tells: number, name,
--        sent, unread words.
-- Promise: a number belongs to one name; what is entered again keeps its number and its count.
local WHAT, NAME = ARGV[2], ARGV[3]
local place = place_of(NAME)

-- free gives the place of a number that no outbox has: one without words of an earlier one, where there is any.
local function free()
  local other
  for i = 1, #NUMBERS do
    if not names[i] then
      if call('EXISTS', META, told_key(i)) == call('EXISTS', META) then return i end
      other = other or i
    end
  end
  return other
end

local function enter()
  local word = 'known'
  if not place then
    word, place = 'entered', free()
    if not place then return {now, 'crowded'} end
    call('HSET', META, fields[place], NAME)
    names[place] = NAME
  end
  return describe({now, word, call('HGET', META, 'told') or 0}, place)
end

local function forget()
  if not place then return {now, 'stranger'} end
  call('EXISTS', META, told_key(place)) -- touches
  call('UNLINK', told_key(place))
  call('HDEL', META, fields[place], 'sent:' .. sub(NUMBERS, place, place))
  return {now, 'forgotten'}
end
if WHAT == 'enter' then return enter() end
return forget()
