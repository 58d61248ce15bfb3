package store_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/store"
)

// coverage counts what was tried and answered, so that a test that tries too little fails.
type coverage struct {
	commands int
	seen     map[string]int
}

func (c *coverage) note(verb string, answer any) {
	c.commands++
	words := map[string]bool{}
	switch a := answer.(type) {
	case []store.Enqueued:
		for _, e := range a {
			words[cmp.Or(string(e.Outcome), "refused")] = true
		}
	case sent:
		for _, e := range a.Out {
			words[cmp.Or(string(e.Outcome), "refused")] = a.Err == nil
		}
		words["stranger"] = a.Err != nil
	case read:
		words = map[string]bool{"words": len(a.Words) > 0, "nothing": a.Err == nil && len(a.Words) == 0, "stranger": a.Err != nil}
	case []store.State:
		for _, s := range a {
			words[cmp.Or(string(s), "none")] = true
		}
	case []store.Verdict:
		for _, v := range a {
			words[string(v)] = true
		}
	case store.Verdict:
		words[string(a)] = true
	case []store.JobEnd:
		for _, e := range a {
			words[cmp.Or(string(e.State), "lives")] = true
		}
	case []store.Change:
		for _, v := range a {
			words[string(v)] = true
		}
	case store.Claimed:
		words = map[string]bool{"late": a.Late, "again": a.Again, "paused": a.Paused, "jobs": len(a.Jobs) > 0, "parked": a.Parked > 0}
	case store.Purged:
		words["deleted"] = a.Deleted > 0
	case found:
		words[string(a.info.State)] = true
	case []string:
		words["something"] = len(a) > 0
	}
	c.seen[verb]++
	for w, is := range words {
		if is {
			c.seen[verb+" "+w]++
		}
	}
}

// state counts after how many commands each key stood in Redis, and some of what stands there.
func (c *coverage) state(d dump) {
	for key := range d {
		name, _, _ := strings.Cut(key, ":")
		if name == "settled" {
			name = key
		}
		c.seen["key "+name]++
	}
	for field, key := range map[string]string{
		"ghosts": "meta", "high": "meta", "kinds": "meta", "dead_cut": "stats", "effects": "stats", "suppressed": "stats", "mismatches": "stats",
	} {
		if _, ok := d[key].Hash[field]; ok {
			c.seen[key+" "+field]++
		}
	}
}

func (c *coverage) String() string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(c.seen)) {
		out = append(out, fmt.Sprintf("%s %d", k, c.seen[k]))
	}
	return fmt.Sprintf("%d commands: %s", c.commands, strings.Join(out, ", "))
}

// mustSee are answers and keys that a test of some thousand commands meets many times.
var mustSee = []string{
	"enqueue accepted", "enqueue spilled", "enqueue duplicate", "enqueue conflict", "enqueue full",
	"claim jobs", "claim parked", "claim again", "claim late", "claim paused",
	"settle done", "settle already", "settle stale", "settle gone", "renew held", "renew lost",
	"progress held", "progress lost", "ends lives", "ends completed", "ends gone",
	"cancel cancelled", "cancel requested", "cancel ended", "cancel gone", "delete deleted", "delete active", "delete gone",
	"requeue state", "requeue gone", "promote state", "promote gone", "purge deleted", "configure", "pause", "resume", "ring",
	"flush", "get ready", "get gone", "list", "expire something", "stats dead_cut", "stats effects", "stats suppressed", "stats mismatches", "meta ghosts", "meta high",
	"key ready", "key urgent", "key suspects", "key parked", "key due", "key retry", "key overflow", "key leases", "key runs",
	"key claims", "key cancels", "key faults", "key progress", "key dead", "key done", "key settled:g0", "key settled:g1", "key settled:n0",
	"key settled:n1", "key bell", "key told", "key result",
	"enter", "forget", "standing", "outboxes", "send accepted", "send spilled", "send duplicate", "send conflict", "send full",
	"send stranger", "read words", "read nothing", "read stranger", "states ready", "states none", "states completed",
}

// rarelySeen is met for certain only by long tests.
var rarelySeen = []string{
	"settle cancelled", "renew cancelled", "progress cancelled", "ends cancelled", "ends dead", "ends deleted", "delete forgotten", "states scheduled", "states active", "states retry", "states parked", "states spilled", "states dead",
	"states cancelled", "states deleted", "requeue requeued", "requeue full", "promote promoted",
	"get scheduled", "get active", "get retry", "get parked", "get spilled", "get completed", "get dead", "get cancelled", "get deleted",
}

// surely and long are how many commands meet all of mustSee and of rarelySeen.
const surely, long = 5000, 50_000

// check fails where something was not met.
func (c *coverage) check(t *testing.T, must ...string) {
	t.Helper()
	t.Logf("%v", c)
	if c.commands < surely {
		return
	}
	if len(must) > 0 && c.commands >= long {
		must = append(slices.Clone(must), rarelySeen...)
	}
	for _, what := range must {
		if c.seen[what] == 0 {
			t.Errorf("%d commands, and never %q", c.commands, what)
		}
	}
}
