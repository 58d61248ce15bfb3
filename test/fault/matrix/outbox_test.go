package matrix_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/test/fault/stage"
)

func outboxPart(name string, give func(testing.TB) *sqltest.Database) part {
	points := []stage.Point{
		"rows locked", "answer read", "rows marked", "rows committed", "words read", "words marked", "words committed", "words removed",
	}
	points = append(append(points, steps("enqueue")...), steps("told")...)
	return part{stack: "outbox " + name, name: "relay on " + name, points: points, database: give, round: relays, needs: []string{"I12"}}
}

var errRolledBack = errors.New("rolled back")

// relays puts a relay under fault, while another one is there.
func relays(r round) {
	r.Helper()
	box, err := outbox.New(r.DB, r.Database.Dialect, outbox.Options{})
	r.Must(err)
	r.forgive(r.name)
	r.enter(box, "job", nil)
	r.enter(box, "never", errRolledBack)
	worker := r.Spawn(stage.Orders{Role: stage.Work, Queue: r.name})
	p := r.Spawn(stage.Orders{Role: stage.Relay, Stop: r.point})
	unfinished := func() bool {
		st, err := box.Stats(r.Context())
		r.Must(err)
		for _, q := range st.Queues {
			if q.Queue == r.name {
				return q.New+q.Sent > 0
			}
		}
		return true
	}
	entered, flying := int64(jobs), r.reached(p, unfinished)
	if !flying { // all rows have ended there: others are to be in flight
		r.enter(box, "more", nil)
		entered, flying = 2*jobs, unfinished()
	}
	other := r.Spawn(stage.Orders{Role: stage.Relay})
	began := time.Now() // a relay that is frozen may hold its rows: nobody else can carry them
	fired := r.Play(p, r.fault, func() bool { return !unfinished() || time.Since(began) > 4*stage.Lease })
	r.Until("all rows have ended", func() bool { return !unfinished() })
	r.Idle(r.name)
	r.completed(r.name, entered)
	r.Tell(r.point, r.fault, fired() && flying)
	r.end(p, other, worker)
}

// enter enters jobs in one transaction, which is rolled back where there is an error.
func (r round) enter(box *outbox.Outbox, name string, end error) {
	r.Helper()
	kind := waybill.Define[int](stage.Kind, waybill.KindOptions{Queue: r.name, Retention: time.Hour})
	requests := make([]waybill.Request, jobs)
	for i := range requests {
		requests[i] = kind.Request(i, waybill.ID(fmt.Sprint(name, "-", i)))
	}
	tx, err := r.DB.BeginTx(r.Context(), nil)
	r.Must(err)
	r.Must(box.Enqueue(r.Context(), tx, requests...))
	outcome := history.OK
	if end == nil {
		err = tx.Commit()
	} else {
		outcome, err = history.Fail, tx.Rollback()
	}
	r.Must(err)
	for _, q := range requests {
		r.History.Write(history.Event{
			Op: history.OpRow, Queue: q.Queue, Job: q.ID, Outcome: outcome, Hash: history.Hash(q.Kind, q.Payload, q.Headers, q.Priority),
		})
	}
}
