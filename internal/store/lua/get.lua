-- get.lua tells all that is known of one job. It writes nothing.
-- ARGV: tag, id
-- Reply: now, state, score of its place, record, run entry, errors, cancel, progress, result, window entry;
--        "" where there is none. State: as where.lua says | known (only the window remembers it) | gone | newer
local id = ARGV[2]
local rec = call('MGET', record(id), META)[1] or ''
local state, score = 'gone', ''
if rec ~= '' then
  if string.byte(rec) ~= 49 then
    state = 'newer'
  else
    local _
    state, _, _, score = where(id, rec, run_of(id))
  end
end
local entry = ''
for _, key in ipairs({NAMED0, NAMED1, GEN0, GEN1}) do entry = call('HGET', key, id) or entry end
if state == 'gone' and entry ~= '' then state = 'known' end
local function of(key) return call('HGET', key, id) or '' end
return {now, state, score, rec, of(RUNS), of(FAULTS), of(CANCELS), of(PROGRESS), call('GET', result(id)) or '', entry}
