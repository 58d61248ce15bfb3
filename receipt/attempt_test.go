package receipt_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
)

func TestForAttempt_madeByHand(t *testing.T) {
	t.Parallel()
	bare := receipt.ForAttempt(&waybill.Attempt{ID: "x"})
	if bare.Scope != "default" || bare.ID != "x" || bare.Token == "" || time.Since(bare.Born) > time.Minute {
		t.Errorf("of an ID alone the key is %+v", bare)
	}
	due := time.Now().Add(-time.Hour)
	k := receipt.ForAttempt(&waybill.Attempt{ID: "x", Queue: "mail", Token: "1-a", DueAt: due})
	if k.Scope != "mail" || k.Token != "1-a" || !k.Born.Equal(due) {
		t.Errorf("what the attempt says is not taken: %+v", k)
	}
	moved := receipt.ForAttempt(&waybill.Attempt{ID: "x", Queue: "mail", Scope: "old", DueAt: due, BornAt: due.Add(-time.Hour)})
	if moved.Scope != "old" || !moved.Born.Equal(due.Add(-time.Hour)) {
		t.Errorf("a worker's attempt gives %+v", moved)
	}
}
