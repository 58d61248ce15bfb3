-- trim.lua cuts a topic's stream, a bounded number of entries a call.
-- ARGV: the topic's tag, below (an ID: what lies below it goes, whoever wants it; "": only what nobody wants)
-- Reply: now, entries cut, whether there is more to cut (0 | 1), entries left
local BELOW = ARGV[2]
touch()
local n, more
if BELOW == '' then
  n, more = keep()
else
  n, more = cut_below('MINID', BELOW)
  count('cut', n)
end
return {now, n, more and 1 or 0, call('XLEN', STREAM)}
