-- ring.lua gives back a token of the bell that a listener took and did not use.
-- ARGV: tag
-- Reply: now
ring()
return {now}
