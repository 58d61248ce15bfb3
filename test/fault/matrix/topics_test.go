package matrix_test

import (
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/test/fault/stage"
	"github.com/waybillhq/waybill/topic"
)

func topicParts() []part {
	points := append(append(steps("claim"), stage.Handed, stage.Begun, stage.Entered, stage.Written, stage.Committing, stage.Committed),
		steps("settle")...)
	return []part{
		{stack: "topics", name: "publisher", points: steps("publish"), round: publishes, needs: []string{"I7", "I13"}},
		{
			stack: "topics", name: "subscriber", points: points, round: subscribes, needs: []string{"I13"},
			database: func(t testing.TB) *sqltest.Database { return sqltest.SQLite(t) },
		},
	}
}

// subscriptions makes those of a round's topic: one under fault, and one beside it.
func (r round) subscriptions() (billing, mail string) {
	r.Helper()
	events := topic.Define[int](r.name)
	for _, name := range []string{"billing", "mail"} {
		_, err := events.Create(r.Context(), r.Client, name, topic.Beginning)
		r.Must(err)
		r.forgive(r.name + "/" + name)
		r.History.Write(history.Event{Op: history.OpSubscription, Queue: r.name + "/" + name})
	}
	return r.name + "/billing", r.name + "/mail"
}

// taken waits until all events were delivered, and their jobs have ended.
func (r round) taken() {
	r.Helper()
	r.Until("all events are taken", r.allTaken)
}

func (r round) allTaken() bool {
	st, err := topic.Open(r.Client, r.name).Stats(r.Context())
	if err != nil {
		return false
	}
	for _, sub := range st.Subscriptions {
		if sub.Lag > 0 || r.Live(r.name+"/"+sub.Name) != 0 {
			return false
		}
	}
	return true
}

func publishes(r round) {
	r.Helper()
	billing, mail := r.subscriptions()
	o := stage.Orders{Role: stage.Publish, Queue: r.name, Jobs: jobs}
	stopping := o
	stopping.Stop = r.point
	p := r.Spawn(stopping)
	flying := r.reached(p, func() bool { return !p.HasEnded() })
	successor := r.Spawn(o)
	fired := r.Play(p, r.fault, successor.HasEnded)
	r.Until("all is sent", func() bool { return successor.HasEnded() && (r.fault == stage.Killed || p.HasEnded()) })
	one := r.Spawn(stage.Orders{Role: stage.Subscribe, Queue: billing})
	two := r.Spawn(stage.Orders{Role: stage.Subscribe, Queue: mail})
	r.taken()
	r.completed(billing, jobs)
	r.completed(mail, jobs)
	r.Tell(r.point, r.fault, fired() && flying)
	r.end(p, successor, one, two)
}

func subscribes(r round) {
	r.Helper()
	billing, mail := r.subscriptions()
	requests := make([]waybill.Request, jobs)
	for i := range requests {
		requests[i] = topic.Define[int](r.name).Request(i)
	}
	_, err := r.Client.EnqueueMany(r.Context(), requests)
	r.Must(err)
	p := r.Spawn(stage.Orders{Role: stage.Subscribe, Queue: billing, Stop: r.point, Jobs: 2})
	flying := r.reached(p, func() bool { return !r.allTaken() })
	one := r.Spawn(stage.Orders{Role: stage.Subscribe, Queue: billing})
	two := r.Spawn(stage.Orders{Role: stage.Subscribe, Queue: mail})
	fired := r.Play(p, r.fault, func() bool {
		st, err := r.Client.Queue(billing).Stats(r.Context())
		return err == nil && st.Crashes > 0 || r.allTaken()
	})
	r.taken()
	r.completed(billing, jobs)
	r.completed(mail, jobs)
	r.Tell(r.point, r.fault, fired() && flying)
	r.end(p, one, two)
}
