package nemesis_test

import (
	"fmt"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/test/fault/stage"
)

// enter enters rows until the run is over; every tenth transaction is rolled back.
func (n *nemesis) enter() {
	kind := waybill.Define[int](stage.Kind, waybill.KindOptions{Queue: posted, Retention: time.Hour})
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	for tx := 0; ; tx++ {
		requests := make([]waybill.Request, 3)
		for i := range requests {
			requests[i] = kind.Request(i, waybill.ID(fmt.Sprintf("row-%d-%d", tx, i)))
		}
		n.transaction(requests, tx%10 != 9)
		select {
		case <-n.over:
			return
		case <-tick.C:
		}
	}
}

// transaction enters rows and tells what became of them.
func (n *nemesis) transaction(requests []waybill.Request, commit bool) {
	outcome := history.Fail
	tx, err := n.DB.BeginTx(n.Context(), nil)
	if err == nil {
		err = n.box.Enqueue(n.Context(), tx, requests...)
		switch {
		case err == nil && commit:
			outcome = history.Unknown
			if err = tx.Commit(); err == nil {
				outcome = history.OK
			}
		default:
			_ = tx.Rollback()
		}
	}
	for _, q := range requests {
		n.History.Write(history.Event{
			Op: history.OpRow, Queue: q.Queue, Job: q.ID, Outcome: outcome, Hash: history.Hash(q.Kind, q.Payload, q.Headers, q.Priority),
		})
	}
}

// carried tells whether all rows have ended.
func (n *nemesis) carried() bool {
	if n.box == nil {
		return true
	}
	st, err := n.box.Stats(n.Context())
	if err != nil {
		return false
	}
	for _, q := range st.Queues {
		if q.New+q.Sent > 0 {
			return false
		}
	}
	return true
}
