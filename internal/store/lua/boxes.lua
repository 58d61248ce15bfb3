-- boxes.lua stands before the scripts that know outboxes by their names. An outbox's number is one of these.
local NUMBERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
local fields = {}
for i = 1, #NUMBERS do fields[i] = 'outbox:' .. sub(NUMBERS, i, i) end
local names = call('HMGET', META, unpack(fields)) -- by the place of the number

-- place_of gives the place of an outbox's number; nil where the queue does not know it.
local function place_of(name)
  for i = 1, #NUMBERS do
    if names[i] == name then return i end
  end
end

local function told_key(i) return TAG .. 'told:' .. sub(NUMBERS, i, i) end

-- describe adds what is known of the outbox at a place: number, name, sent, unread words.
local function describe(out, i)
  local n = sub(NUMBERS, i, i)
  for _, x in ipairs({n, names[i] or '', call('HGET', META, 'sent:' .. n) or 0, call('HLEN', told_key(i))}) do
    out[#out + 1] = x
  end
  return out
end
