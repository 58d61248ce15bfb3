package history_test

import (
	"testing"

	"github.com/waybillhq/waybill/history"
)

func TestCheck_OneHolder(t *testing.T) {
	two := tape{enqueue(1, "a"), attempt(2, "a", 1, token("A")), attempt(10, "a", 2, token("B")), end(20, "a", 2, "completed"), stands("a", "completed", 2, token("B"))}
	hold(t, "I4", map[string]fact{
		"a job is delivered again":           {lines: two},
		"the stale one is told so":           {lines: two.and(end(25, "a", 1, "completed", outcome(history.Fail)))},
		"an end that was made before counts": {lines: two.and(end(12, "a", 1, "retry", begun(9)))},
		"the stale one is told it ended":     {lines: two.and(end(15, "a", 1, "retry", begun(12))), breaks: "I4", text: "while attempt 2 held"},
		"also where nobody knows when":       {lines: two.and(end(15, "a", 1, "completed", begun(-1000))), breaks: "I5"},
		"a number is given twice":            {lines: two.and(attempt(11, "a", 2, token("C"))), breaks: "I4", text: "attempt 2 was given 2 times"},
		"a requeue is no reason for that":    {lines: two.and(line(history.OpRequeue, 9, "a"), attempt(11, "a", 2)), breaks: "I4"},
		"an attempt ends twice":              {lines: two.and(end(4, "a", 1, "retry", begun(3)), end(5, "a", 1, "snoozed", begun(3))), breaks: "I4", text: "attempt 1 ended 2 times"},
		"two attempts have one token":        {lines: tape{enqueue(1, "a"), attempt(2, "a", 1, token("A")), attempt(3, "a", 2, token("A"))}, breaks: "I4", text: "one token"},
		"a number is given again after a loss, and its token too": {
			lines:  two.and(run("everysec", 1000), killed(10), attempt(30, "a", 2, token("B"), func(e *history.Event) { e.Process = "another" })),
			breaks: "I4", text: "two holders of attempt 2 have one token",
		},
		"a claim was forgotten": {
			lines: two.and(run("everysec", 1000), killed(10), attempt(30, "a", 2, token("C"))),
		},
		"a claim was not forgotten": {
			lines:  two.and(run("everysec", 5), killed(18), attempt(30, "a", 2, token("C"))),
			breaks: "I4",
		},
		"the job was taken anew": {
			lines: two.and(line(history.OpDelete, 21, "a"), enqueue(22, "a"), attempt(23, "a", 1), attempt(24, "a", 2)),
		},
	})
}

func TestCheck_OneEnd(t *testing.T) {
	hold(t, "I5", map[string]fact{
		"a job ends":                      {lines: whole("a")},
		"the window knows it as it ended": {lines: whole("a").but(3, stands("a", "completed", 0, func(e *history.Event) { e.Note = "window" }))},
		"it ends twice":                   {lines: whole("a").but(3, attempt(4, "a", 2), end(5, "a", 2, "completed")), breaks: "I5", text: "ended 2 times"},
		"that the second was forgotten is no excuse": {
			lines:  whole("a").but(3, run("everysec", 10), killed(505), attempt(500, "a", 2), end(501, "a", 2, "completed")),
			breaks: "I5",
		},
		"a second end that failed is none":       {lines: whole("a").and(end(5, "a", 1, "dead", outcome(history.Fail)))},
		"it is delivered after its end":          {lines: whole("a").but(3, attempt(5, "a", 2)), breaks: "I5", text: "after it had ended"},
		"it was dead, and cut":                   {lines: tape{enqueue(1, "a"), attempt(2, "a", 1), end(3, "a", 1, "dead"), line(history.OpWait, 4, "a", code("dead")), stands("a", "deleted", 0, func(e *history.Event) { e.Note = "window" })}},
		"it was completed, and is deleted":       {lines: whole("a").but(3, stands("a", "deleted", 0, func(e *history.Event) { e.Note = "window" })), breaks: "I5"},
		"it stands as something else":            {lines: whole("a").but(3, stands("a", "retry", 1)), breaks: "I5", text: "stands as retry"},
		"it was deleted afterwards":              {lines: whole("a").but(3, stands("a", "deleted", 1), line(history.OpDelete, 9, "a"))},
		"a server that died forgot the end":      {lines: whole("a").but(3, run("everysec", 1000), killed(5), attempt(9, "a", 2), end(10, "a", 2, "completed"), stands("a", "completed", 2))},
		"it was told that it ended, and waits":   {lines: whole("a").but(3, run("always", 0), killed(5), stands("a", "ready", 1)), breaks: "I5"},
		"a dead job is requeued, and ends again": {lines: tape{enqueue(1, "a"), attempt(2, "a", 1), end(3, "a", 1, "dead"), line(history.OpRequeue, 4, "a"), attempt(5, "a", 2), end(6, "a", 2, "completed"), stands("a", "completed", 2)}},
		"its record names another attempt": {
			lines:  tape{enqueue(1, "a"), attempt(2, "a", 1, token("A")), end(4, "a", 1, "completed"), stands("a", "completed", 1, token("B"))},
			breaks: "I5", text: "another attempt's token",
		},
	})
}

func TestCheck_Arithmetic(t *testing.T) {
	counters := func(change map[string]any) history.Event {
		all := map[string]any{
			"accepted": 10, "requeued": 1, "completed": 5, "died": 2, "cancelled": 1, "deleted": 1, "ready": 1, "active": 1,
			"deliveries": 12, "failures": 3, "crashes": 1, "snoozes": 1, "released": 1,
		}
		for name, n := range change {
			all[name] = n
		}
		return line(history.OpQueue, 0, "", stats(all))
	}
	hold(t, "I9", map[string]fact{
		"a queue's counters add up":            {lines: tape{counters(nil)}},
		"an active job was cancelled":          {lines: tape{counters(map[string]any{"deliveries": 14})}},
		"a job is missing":                     {lines: tape{counters(map[string]any{"ready": 0})}, breaks: "I9", text: "11 jobs were accepted"},
		"a delivery is missing":                {lines: tape{counters(map[string]any{"deliveries": 11})}, breaks: "I9", text: "of 11 deliveries 12"},
		"deliveries are beyond all that ended": {lines: tape{counters(map[string]any{"deliveries": 15})}, breaks: "I9"},
		"a job's attempts add up":              {lines: tape{enqueue(1, "a"), stands("a", "completed", 3, failures(2))}},
		"more failures than attempts":          {lines: tape{enqueue(1, "a"), stands("a", "completed", 2, failures(2))}, breaks: "I9", text: "2 attempts, of which 3"},
		"an attempt was not counted":           {lines: tape{enqueue(1, "a"), attempt(2, "a", 2), stands("a", "ready", 1)}, breaks: "I9", text: "attempt 2 was given"},
	})
}

func TestCheck_NotEarly(t *testing.T) {
	hold(t, "I10", map[string]fact{
		"a job is claimed when it is due":  {lines: tape{enqueue(1, "a", delayed(100)), attempt(101, "a", 1, claimed(5000, 5000))}},
		"it is claimed before":             {lines: tape{enqueue(1, "a"), attempt(2, "a", 1, claimed(4999, 5000))}, breaks: "I10", text: "1 ms before"},
		"its due time is a lie":            {lines: tape{enqueue(1, "a", delayed(100)), attempt(50, "a", 1, claimed(5000, 5000))}, breaks: "I10", text: "delay of 100"},
		"the first of two enqueues counts": {lines: tape{enqueue(60, "a", code("duplicate"), delayed(100)), enqueue(1, "a", delayed(100)), attempt(101, "a", 1, claimed(5000, 5000))}},
		"an operator may promote it":       {lines: tape{enqueue(1, "b"), attempt(2, "b", 1, claimed(9, 9)), enqueue(1, "a"), line(history.OpPromote, 2, "a"), attempt(3, "a", 1, claimed(4999, 5000))}},
	})
}

func TestCheck_ClockWasSet(t *testing.T) {
	jump := line(history.OpFault, 20, "", in(""), code("clock back"), delayed(-100))
	hold(t, "I10", map[string]fact{
		"what a jump of the clock explains is not early": {lines: tape{enqueue(1, "a"), attempt(2, "a", 1, claimed(4900, 5000)), jump}},
		"what is more than the jump is":                  {lines: tape{enqueue(1, "a"), attempt(2, "a", 1, claimed(4899, 5000)), jump}, breaks: "I10", text: "101 ms before"},
	})
}
