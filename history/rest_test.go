package history_test

import (
	"testing"

	"github.com/waybillhq/waybill/history"
)

func TestCheck_OneEffect(t *testing.T) {
	effect := func(k string) history.Event { return line(history.OpEffect, 0, k, outcome("")) }
	receipt := func(k string) history.Event { return line(history.OpReceipt, 0, k, outcome("")) }
	both := tape{effect("a"), receipt("a")}
	hold(t, "I6", map[string]fact{
		"a job has an effect and its receipt":     {lines: whole("a").and(both...)},
		"with steps it has several":               {lines: whole("a").and(effect("a one"), receipt("a one"), effect("a two"), receipt("a two"))},
		"a job that did not complete may have it": {lines: tape{enqueue(1, "a"), stands("a", "retry", 1)}.and(both...)},
		"or not":                             {lines: whole("a").and(both...).and(enqueue(1, "b"), stands("b", "dead", 1))},
		"the effect is doubled":              {lines: whole("a").and(both...).and(effect("a")), breaks: "I6", text: "there 2 times"},
		"the receipt is doubled":             {lines: whole("a").and(both...).and(receipt("a")), breaks: "I6", text: "receipt is there 2 times"},
		"the receipt is missing":             {lines: whole("a").and(effect("a")), breaks: "I6", text: "without a receipt"},
		"the effect is missing":              {lines: tape{enqueue(1, "a"), stands("a", "retry", 1), receipt("a")}, breaks: "I6", text: "without the effect"},
		"a job completed without":            {lines: append(whole("a"), whole("b")...).and(both...), breaks: "I6", text: "completed without"},
		"it completed for all anybody knows": {lines: whole("a").and(both...).and(enqueue(1, "b"), attempt(2, "b", 1), end(3, "b", 1, "completed", outcome(history.Fail)), stands("b", "retry", 1))},
		"in another queue none is asked for": {lines: append(whole("a"), tape{enqueue(1, "b", in("p")), end(3, "b", 1, "completed", in("p"))}...).and(both...)},
		"an event's replay has the event's":  {lines: tape{enqueue(1, "e", in("topic:q")), attempt(2, "r", 1, in("q/s"), of("e")), end(3, "r", 1, "completed", in("q/s")), line(history.OpEffect, 0, "e", in("q/s")), line(history.OpReceipt, 0, "e", in("q/s"))}},
		"an effect is there of nobody's job": {lines: tape{effect("x"), receipt("x")}},
		"an effect in another scope is not it": {
			lines:  whole("a").and(line(history.OpEffect, 0, "a", in("p")), line(history.OpReceipt, 0, "a", in("p")), effect("x"), receipt("x")),
			breaks: "I6",
		},
	})
}

func TestCheck_Bounded(t *testing.T) {
	sample := func(live, capacity int64) history.Event { return line(history.OpSample, 1, "", room(live, capacity)) }
	queue := func(of map[string]any) history.Event { return line(history.OpQueue, 0, "", stats(of)) }
	hold(t, "I8", map[string]fact{
		"a full queue is within its bound": {lines: tape{sample(10, 10), queue(map[string]any{"capacity": 10, "high": 10})}},
		"one job more is not":              {lines: tape{sample(11, 10)}, breaks: "I8", text: "11 jobs are live, of 10"},
		"also for a moment":                {lines: tape{queue(map[string]any{"capacity": 10, "high": 11})}, breaks: "I8", text: "11 jobs were live"},
		"without a bound any number is":    {lines: tape{sample(10, 10), sample(11, 0), queue(map[string]any{"capacity": nil, "high": nil})}},
	})
}

func TestCheck_Subscriptions(t *testing.T) {
	both := tape{line(history.OpSubscription, 0, "", in("t/s")), line(history.OpSubscription, 0, "", in("t/u")), enqueue(1, "e", in("topic:t"))}
	gotS, gotU := attempt(2, "e", 1, in("t/s"), of("e")), stands("e", "completed", 1, in("t/u"))
	hold(t, "I13", map[string]fact{
		"each gets the event":                   {lines: both.and(gotS, gotU)},
		"one does not":                          {lines: both.and(gotS), breaks: "I13", text: "t/u never got it"},
		"another event is not it":               {lines: both.and(gotU, enqueue(1, "f", in("topic:t")), attempt(2, "f", 1, in("t/s"), of("f")), stands("f", "completed", 1, in("t/u"))), breaks: "I13", text: "t/s never"},
		"a row is an event too":                 {lines: both.but(2, line(history.OpRow, 1, "e", in("topic:t"))).and(gotU), breaks: "I13"},
		"what was not accepted need not come":   {lines: both.and(gotS, gotU, enqueue(1, "f", in("topic:t"), outcome(history.Unknown)))},
		"a server that died may have forgotten": {lines: both.and(gotS, run("everysec", 1000), killed(10))},
		"an operator deleted it":                {lines: both.and(gotS, line(history.OpDelete, 4, "e", in("t/u")))},
	})
}

func TestCheck_Waits(t *testing.T) {
	wait := func(at int64, state string, change ...func(*history.Event)) history.Event {
		return line(history.OpWait, at, "a", append([]func(*history.Event){code(state), begun(1)}, change...)...)
	}
	bound := history.Event{Op: history.OpRun, WaitMS: 50}
	hold(t, "I14", map[string]fact{
		"it tells how the job ended":        {lines: whole("a").and(wait(5, "completed"))},
		"an error tells it too":             {lines: tape{enqueue(1, "a"), wait(5, "dead", outcome(history.Fail)), stands("a", "dead", 1)}},
		"it tells something else":           {lines: whole("a").and(wait(5, "dead")), breaks: "I14", text: "told that it is dead"},
		"also where only the end was seen":  {lines: whole("a").but(3, wait(5, "dead")), breaks: "I14"},
		"it comes back before the handler":  {lines: whole("a").and(wait(2, "completed")), breaks: "I14", text: "later"},
		"it comes back before the attempt":  {lines: whole("a").but(2, end(4, "a", 1, "completed", begun(-1000)), wait(1, "completed")), breaks: "I14", text: "began later"},
		"it comes late":                     {lines: whole("a").and(bound, wait(60, "completed", late(51))), breaks: "I14", text: "51 ms"},
		"it comes in time":                  {lines: whole("a").and(bound, wait(60, "completed", late(50)))},
		"after a requeue any state is told": {lines: whole("a").and(line(history.OpRequeue, 3, "a"), wait(5, "dead"))},
	})
}

func TestCheck_Tidy(t *testing.T) {
	hold(t, "I16", map[string]fact{
		"nothing is out of place":       {lines: tape{line(history.OpQueue, 0, "")}},
		"no key is left":                {lines: tape{line(history.OpKeys, 0, "", keys(7, 7))}},
		"an audit finds something":      {lines: tape{line(history.OpQueue, 0, ""), line(history.OpFinding, 0, "a", code("unindexed"))}, breaks: "I16", text: "unindexed"},
		"a key is left behind the rest": {lines: tape{line(history.OpKeys, 0, "", keys(8, 7))}, breaks: "I16", text: "8 keys"},
	})
}
