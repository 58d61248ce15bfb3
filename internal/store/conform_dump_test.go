package store_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/model"
)

// dumpScript reads all keys of a queue in one step.
const dumpScript = `
local out = {}
for _, k in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do
  local t, v = redis.call('TYPE', k).ok
  if t == 'list' then v = redis.call('LRANGE', k, 0, -1)
  elseif t == 'zset' then v = redis.call('ZRANGE', k, 0, -1, 'WITHSCORES')
  elseif t == 'hash' then v = redis.call('HGETALL', k)
  else v = {redis.call('GET', k)} end
  out[#out + 1] = {k, t, redis.call('PTTL', k), v}
end
return out`

// dump is all that stands in Redis for a queue, by key without its tag.
type dump map[string]model.Value

// readDump reads it. The clock of tests is left out, and so is a count of no ghosts.
func readDump(ctx context.Context, rdb redis.UniversalClient, q *store.Queue) (dump, error) {
	rows, err := rdb.Eval(ctx, dumpScript, nil, q.Tag()).Slice()
	if err != nil {
		return nil, fmt.Errorf("dump: %w", err)
	}
	d := dump{}
	for _, row := range rows {
		f := row.([]any)
		key := strings.TrimPrefix(f[0].(string), q.Tag())
		if key == "clock" {
			continue
		}
		d[key] = value(f[1].(string), f[3].([]any))
		if f[2].(int64) >= 0 {
			v := d[key]
			v.Mortal = true
			d[key] = v
		}
	}
	if m := d["meta"].Hash; m["ghosts"] == "0" {
		delete(m, "ghosts")
	}
	return d, nil
}

func value(kind string, raw []any) (v model.Value) {
	texts := make([]string, len(raw))
	for i, x := range raw {
		texts[i] = x.(string)
	}
	switch kind {
	case "list":
		v.List = texts
	case "zset":
		v.Scores = map[string]int64{}
		for i := 0; i < len(texts); i += 2 {
			f, _ := strconv.ParseFloat(texts[i+1], 64)
			v.Scores[texts[i]] = int64(f)
		}
	case "hash":
		v.Hash = map[string]string{}
		for i := 0; i < len(texts); i += 2 {
			v.Hash[texts[i]] = texts[i+1]
		}
	default:
		v.Text = texts[0]
	}
	return v
}

// liveIndexes are the indexes of jobs that have not ended, without the line.
var liveIndexes = []string{"urgent", "suspects", "parked", "due", "retry", "overflow", "leases"}

// live counts jobs that have not ended; spilled are those of them in the overflow.
func (d dump) live() (live, spilled int) {
	ghosts, _ := strconv.Atoi(d["meta"].Hash["ghosts"])
	live = len(d["ready"].List) - ghosts
	for _, key := range liveIndexes {
		live += len(d[key].Scores)
	}
	return live, len(d["overflow"].Scores)
}

// places tells in which indexes each element stands; of the line only where its record says the same.
func (d dump) places() map[string][]string {
	out := map[string][]string{}
	for _, el := range d["ready"].List {
		if raw := d["job:"+el[16:]].Text; len(raw) > 16 && raw[1:16] == el[:15] {
			out[el] = append(out[el], "ready")
		}
	}
	for _, key := range append(slices.Clone(liveIndexes), "dead", "done") {
		for member := range d[key].Scores {
			if key == "leases" {
				_, member, _ = strings.Cut(member, " ")
			}
			out[member] = append(out[member], key)
		}
	}
	return out
}

// elementOf is what stands in an index for a record.
func elementOf(id, raw string) string {
	if len(raw) < 16 {
		return ""
	}
	return raw[1:4] + strings.ToUpper(raw[4:5]) + raw[5:16] + ":" + id
}

// checkStructure looks for what no step may leave behind, without the model: I1, I4, I16.
func (d dump) checkStructure() (odd []string) {
	note := func(format string, args ...any) { odd = append(odd, fmt.Sprintf(format, args...)) }
	places := d.places()
	for key, v := range d {
		id, isJob := strings.CutPrefix(key, "job:")
		if !isJob {
			if !slices.Contains(store.FixedKeys(), key) && !strings.HasPrefix(key, "told:") && !strings.HasPrefix(key, "result:") {
				note("unknown key %q", key)
			}
			if v.Mortal != strings.HasPrefix(key, "result:") {
				note("key %q: TTL %v", key, v.Mortal)
			}
			continue
		}
		in := places[elementOf(id, v.Text)]
		if len(in) != 1 {
			note("I1: job %q stands in %v", id, in)
		} else if v.Mortal != (in[0] == "done") {
			note("I16: job %q in %v: TTL %v", id, in, v.Mortal)
		}
		if run := d["runs"].Hash[id]; strings.Contains(run, " active ") && !slices.Contains(in, "leases") {
			note("I4: run of %q says active, but it holds no lease", id)
		}
	}
	d.checkIndexes(note)
	d.checkHashes(note)
	return odd
}

// checkIndexes looks for index entries without record, two leases of one job, and wrong ghost counts.
func (d dump) checkIndexes(note func(string, ...any)) {
	ghosts := 0
	for _, el := range d["ready"].List {
		if raw := d["job:"+el[16:]].Text; raw == "" || raw[1:16] != el[:15] {
			ghosts++
		}
	}
	if n := d["meta"].Hash["ghosts"]; ghosts > 0 && n != strconv.Itoa(ghosts) || ghosts == 0 && n != "" {
		note("I16: %d ghosts, %q counted", ghosts, n)
	}
	held := map[string]bool{}
	for _, key := range append(slices.Clone(liveIndexes), "dead") {
		for el := range d[key].Scores {
			if key == "leases" {
				_, el, _ = strings.Cut(el, " ")
				if held[el[16:]] {
					note("I4: job %q has two leases", el[16:])
				}
				held[el[16:]] = true
			}
			_, id, err := record.SplitElement(el)
			if raw := d["job:"+id].Text; err != nil || raw == "" || raw[1:16] != el[:15] {
				note("I16: %q stands in %s without its record", el, key)
			}
		}
	}
}

// checkHashes looks for entries of jobs that are gone, and for leases that their run does not know.
func (d dump) checkHashes(note func(string, ...any)) {
	ended := map[string]bool{} // their records may have gone by their TTL, the sweep will come
	for el := range d["done"].Scores {
		ended[el[16:]] = true
	}
	known := func(id string) bool {
		_, ok := d["job:"+id]
		return ok || ended[id]
	}
	for _, key := range []string{"runs", "faults", "cancels", "progress"} {
		for id := range d[key].Hash {
			if !known(id) {
				note("I16: %s of %q, which is gone", key, id)
			}
		}
	}
	for key := range d {
		if id, ok := strings.CutPrefix(key, "result:"); ok && !known(id) {
			note("I16: result of %q, which is gone", id)
		}
	}
	for member := range d["leases"].Scores {
		token, el, _ := strings.Cut(member, " ")
		if f := strings.Fields(d["runs"].Hash[el[16:]]); len(f) != 7 || f[4] != token || f[5] != "active" {
			note("I4: lease %q, but run %q", member, d["runs"].Hash[el[16:]])
		}
	}
}

// mustDump reads a dump in a fact test.
func mustDump(t testing.TB, rdb redis.UniversalClient, q *store.Queue) dump {
	t.Helper()
	d, err := readDump(t.Context(), rdb, q)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
