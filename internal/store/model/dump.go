package model

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/store"
)

// Value is what one key of the queue holds.
type Value struct {
	List   []string         // a list, in order
	Scores map[string]int64 // a zset
	Hash   map[string]string
	Text   string
	Mortal bool // it has a TTL
}

// Dump gives all that must stand in Redis, by key without the queue's tag.
func (q *Queue) Dump() map[string]Value {
	d := map[string]Value{}
	for at := ready; at <= dead; at++ {
		if at == ready {
			put(d, names[at], Value{List: append([]string{}, q.line...)})
			continue
		}
		scores := map[string]int64{}
		for _, j := range q.in(at) {
			scores[q.member(j)] = j.score
		}
		put(d, names[at], Value{Scores: scores})
	}
	scores := map[string]int64{}
	for el, at := range q.done {
		scores[el] = at
	}
	put(d, names[done], Value{Scores: scores})
	for id, j := range q.jobs {
		d["job:"+id] = Value{Text: j.raw(), Mortal: j.at == done}
	}
	for id, r := range q.results {
		d["result:"+id] = Value{Text: r, Mortal: true}
	}
	q.dumpHashes(d)
	put(d, "meta", Value{Hash: q.meta()})
	put(d, "stats", Value{Hash: texts(q.counts, func(n int64) string { return strconv.FormatInt(n, 10) })})
	if q.bell {
		d["bell"] = Value{List: []string{"1"}}
	}
	return d
}

func (q *Queue) dumpHashes(d map[string]Value) {
	put(d, "runs", Value{Hash: texts(q.runs, (*run).String)})
	put(d, "faults", Value{Hash: texts(q.faults, func(lines []string) string { return strings.Join(lines, "\n") })})
	put(d, "progress", Value{Hash: texts(q.progress, func(p store.Progress) string {
		return fmt.Sprintf("%d %d %s", p.At.UnixMilli(), p.Percent, p.Note)
	})})
	put(d, "cancels", Value{Hash: texts(q.cancels, func(s string) string { return s })})
	put(d, "claims", Value{Hash: texts(q.claims, func(c *claim) string {
		return strings.Join(append([]string{fmt.Sprintf("%d %d", c.number, c.at)}, c.elements...), "\n")
	})})
	for name, w := range map[string]window{"g": q.generated, "n": q.named} {
		for i, g := range w.generations {
			put(d, fmt.Sprintf("settled:%s%d", name, i), Value{Hash: texts(g, entry.String)})
		}
	}
	for box, ids := range q.told {
		put(d, "told:"+string(box), Value{Hash: ids})
	}
}

// meta is the hash of settings, sequences and turns. Zero counts are left out.
func (q *Queue) meta() map[string]string {
	m := texts(q.settings, func(s string) string { return s })
	number := func(field string, n int64) {
		if n != 0 {
			m[field] = strconv.FormatInt(n, 10)
		}
	}
	number("seq", int64(q.seq))
	number("created", q.created)
	number("ghosts", q.ghosts())
	number("told", q.tellings)
	number("high", q.high)
	for n, b := range q.boxes {
		m["outbox:"+string(n)] = b.name
		number("sent:"+string(n), b.sent)
	}
	number("kinds", int64(len(q.kinds)))
	for i, kind := range q.kinds {
		number("kind:"+kind, int64(i+1))
	}
	for name, w := range map[string]window{"gen": q.generated, "named": q.named} {
		if w.at > 0 {
			m[name] = strconv.Itoa(w.current)
			number(name+"_at", w.at)
			number(name+"_before", w.before)
		}
	}
	return m
}

func texts[T any](of map[string]T, text func(T) string) map[string]string {
	out := map[string]string{}
	for k, v := range of {
		out[k] = text(v)
	}
	return out
}

// put leaves out what is empty: Redis keeps no empty key.
func put(d map[string]Value, key string, v Value) {
	if len(v.List) > 0 || len(v.Scores) > 0 || len(v.Hash) > 0 {
		d[key] = v
	}
}
