package protocol_test

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/test/fault/extent"
	"github.com/waybillhq/waybill/test/fault/protocol"
)

// most bounds the states that are looked at, and so the memory: about 100 bytes each, and 150 for each at the rim.
const most = 12_000_000

// size is the least run in which bounds are explored: the larger ones take minutes.
type size int

const (
	check size = iota
	full
	soak
)

func sizeOf(t *testing.T) size {
	t.Helper()
	switch s := extent.Of(t); {
	case s.Soak > 0:
		return soak
	case s.Full:
		return full
	}
	return check
}

// bounds are those within which ours is explored: all at once would be too many.
var bounds = []struct {
	name string
	from size
	protocol.Rules
}{
	{"an answer is lost and a call comes twice, around a fall", check, protocol.Rules{
		Jobs: 1, Claims: 2, Copies: 1, Expiries: 1, Failures: 1, Renewals: 1, Rollbacks: 1,
	}},
	{"both workers are killed, around a fall", check, protocol.Rules{Jobs: 1, Claims: 3, Crashes: 1, Expiries: 1, Rollbacks: 1}},
	{"two jobs, both workers killed, a call that comes twice", check, protocol.Rules{
		Jobs: 2, Claims: 2, Crashes: 1, Copies: 1, Expiries: 1,
	}},
	{"two jobs, both workers killed, a call that comes twice, a third claim", full, protocol.Rules{
		Jobs: 2, Claims: 3, Crashes: 1, Copies: 1, Expiries: 1,
	}},
	{"both workers are killed and a call comes twice, around a fall", full, protocol.Rules{
		Jobs: 1, Claims: 3, Crashes: 1, Copies: 1, Expiries: 1, Rollbacks: 1,
	}},
	{"all but a fall", full, protocol.Rules{Jobs: 1, Claims: 3, Crashes: 1, Copies: 1, Expiries: 2, Failures: 1, Renewals: 1}},
	{"calls that come three times, around a fall", full, protocol.Rules{Jobs: 1, Claims: 3, Copies: 2, Expiries: 1, Failures: 1, Rollbacks: 1}},
	{"two jobs, around a fall", full, protocol.Rules{Jobs: 2, Claims: 3, Copies: 1, Expiries: 1, Rollbacks: 1}},
	{"every kind of fault", soak, protocol.Ours()},
}

func TestExplore(t *testing.T) {
	for _, b := range bounds {
		if b.from > sizeOf(t) {
			continue
		}
		t.Run("nothing is broken by ours: "+b.name, func(t *testing.T) {
			t.Parallel()
			found := protocol.Explore(b.Rules, most)
			t.Log(found)
			if !found.Whole {
				t.Fail()
			}
		})
	}
}

// TestExplore_Broken shows that the model is strong enough: without any one of the rules it finds what that rule is for.
func TestExplore_Broken(t *testing.T) {
	for _, b := range []struct {
		name string
		want string
		not  func(*protocol.Rules)
	}{
		{
			"two attempts hold one job after a fall, where tokens are counters",
			"I4: two hold one job", func(r *protocol.Rules) { r.Tokens = protocol.Counters },
		},
		{
			"two attempts hold one job, where the token is not compared",
			"I4: two hold one job", func(r *protocol.Rules) { r.Tokens, r.Rollbacks = protocol.NoTokens, 0 },
		},
		{
			"a new job is taken for an old one after a fall, where IDs come from a counter",
			"I7: job 2 is told to be known, and is suppressed",
			func(r *protocol.Rules) { r.IDs, r.Jobs = protocol.CounterIDs, 2 },
		},
		{
			"an effect is doubled, where the receipt is committed after it",
			"I6: the effect of job 1 is doubled",
			func(r *protocol.Rules) { r.Receipts, r.Rollbacks = protocol.ReceiptAfter, 0 },
		},
		{
			"an effect is lost, where the receipt is committed before it",
			"I6: job 1 is completed, and its effect is lost",
			func(r *protocol.Rules) { r.Receipts, r.Rollbacks = protocol.ReceiptBefore, 0 },
		},
		{
			"a job is lost, where the ack comes before the effect",
			"I6: job 1 is completed, and its effect is lost",
			func(r *protocol.Rules) { r.AckFirst, r.Rollbacks = true, 0 },
		},
		{
			"a job comes to its end twice, where ended jobs are not remembered",
			"I5: job 1 comes to its end twice", func(r *protocol.Rules) { r.Forgets, r.Rollbacks = true, 0 },
		},
	} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			r := protocol.Ours()
			b.not(&r)
			found := protocol.Explore(r, most)
			t.Log(found)
			if !strings.Contains(found.Broken, b.want) {
				t.Errorf("found %q, not %q", found.Broken, b.want)
			}
		})
	}
}
