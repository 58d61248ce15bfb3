-- trim.lua cuts a topic's stream, a bounded number of entries a call.
-- ARGV: the topic's tag, below (an ID: what lies below it goes, whoever wants it; "": only what nobody wants)
-- Reply: now, entries cut, whether there is more to cut (0 | 1), entries left
local BELOW = ARGV[2]
local n
if BELOW == '' then
  n = keep()
else
  n = cut_below('MINID', BELOW)
  count('cut', n)
end
return {now, n, n > TRIM / 2 and 1 or 0, call('XLEN', STREAM)}
