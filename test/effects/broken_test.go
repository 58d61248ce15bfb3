package effects_test

import (
	"fmt"
	"testing"

	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/test/effects"
)

// TestBroken plays handlers that are made wrong: the checks of the matrix find every effect that was doubled or lost.
func TestBroken(t *testing.T) {
	const jobs = 4
	for _, c := range []struct {
		build effects.Build
		die   effects.Step
		word  string
	}{
		{effects.NoReceipt, effects.Committed, "doubled"},
		{effects.NoReceipt, effects.Settling, "doubled"},
		{effects.ReceiptFirst, effects.Committed, "lost"}, // the first commit, which is the receipt's
		{effects.ReceiptLast, effects.Committed, "doubled"},
	} {
		t.Run(fmt.Sprintf("%s, killed %s: every effect is %s, and found", c.build, c.die, c.word), func(t *testing.T) {
			t.Parallel()
			l := plan{database: sqltest.SQLite(t), die: c.die, build: c.build, jobs: jobs}.run(t)
			if n := len(l.deaths); n != jobs {
				t.Fatalf("%d kills: %q", n, l.odd)
			}
			found := l.check()
			if found.with(c.word) != jobs || found.with("sums") != 1 || found.with("account")+found.with("audit") != 0 {
				t.Errorf("found %q", found)
			}
		})
	}
}

// TestMissed plays a handler that never comes to the step at which it is to die: the checks find every kill that was missed.
func TestMissed(t *testing.T) {
	t.Parallel()
	const jobs = 4
	l := plan{database: sqltest.SQLite(t), die: effects.Entered, build: effects.NoReceipt, jobs: jobs}.run(t)
	if found := l.checkKills(); len(l.deaths) != 0 || found.with("kills") != jobs || l.check().with("workers") == 0 {
		t.Errorf("%d deaths; found %q", len(l.deaths), found)
	}
}
