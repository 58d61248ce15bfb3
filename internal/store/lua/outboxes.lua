-- outboxes.lua tells how the outboxes of the queue stand. It writes nothing.
-- ARGV: tag, name ("" for all)
-- Reply: now, number of the last word told to any outbox (0: none was), then four an outbox: its number, its name, jobs
--        that were taken from it, words that it has not read. Where all are asked for, words of a number that no outbox
--        has are listed too, with the name "". Where one is asked for that is not known, none is listed.
local NAME = ARGV[2]
local out = {now, call('HGET', META, 'told') or 0}
if NAME ~= '' then
  local i = place_of(NAME)
  return i and describe(out, i) or out
end
for i = 1, #NUMBERS do
  if names[i] or call('EXISTS', told_key(i)) == 1 then describe(out, i) end
end
return out
