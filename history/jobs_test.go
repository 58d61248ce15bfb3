package history_test

import (
	"testing"

	"github.com/waybillhq/waybill/history"
)

func TestCheck_Conserved(t *testing.T) {
	account := line(history.OpQueue, 0, "")
	hold(t, "I1", map[string]fact{
		"a job that completed is kept":               {lines: whole("a")},
		"one that waits is":                          {lines: tape{enqueue(1, "a"), stands("a", "ready", 0)}},
		"an end that was told suffices":              {lines: whole("a").but(3, account)},
		"so does a deletion":                         {lines: tape{enqueue(1, "a"), line(history.OpDelete, 2, "a"), account}},
		"so does a wait":                             {lines: tape{enqueue(1, "a"), line(history.OpWait, 2, "a", code("completed")), account}},
		"one that is nowhere is lost":                {lines: tape{enqueue(1, "a"), account}, breaks: "I1", text: "is lost"},
		"also after a duplicate":                     {lines: tape{enqueue(1, "a", code("duplicate")), account}, breaks: "I1", text: "is lost"},
		"an end that failed is none":                 {lines: tape{enqueue(1, "a"), attempt(2, "a", 1), end(3, "a", 1, "completed", outcome(history.Fail)), account}, breaks: "I1"},
		"it was deleted, and told so, and waits":     {lines: tape{enqueue(1, "a"), line(history.OpDelete, 2, "a"), stands("a", "ready", 0)}, breaks: "I1", text: "was deleted"},
		"it was deleted, and the window knows it":    {lines: tape{enqueue(1, "a"), line(history.OpDelete, 2, "a"), stands("a", "deleted", 0)}},
		"nobody knows whether it was deleted":        {lines: tape{enqueue(1, "a"), line(history.OpDelete, 2, "a", outcome(history.Unknown)), stands("a", "ready", 0)}},
		"it was enqueued again after it was deleted": {lines: tape{enqueue(1, "a"), line(history.OpDelete, 2, "a"), enqueue(3, "a"), stands("a", "ready", 0)}},
		"a retry is no end":                          {lines: tape{enqueue(1, "a"), attempt(2, "a", 1), end(3, "a", 1, "retry"), account}, breaks: "I1"},
		"two places are one too many":                {lines: tape{enqueue(1, "a"), stands("a", "ready", 0), stands("a", "retry", 0)}, breaks: "I1", text: "2 places"},
		"a killed server may forget":                 {lines: tape{run("everysec", 1000), enqueue(1, "a"), killed(900), account, enqueue(1, "b"), stands("b", "ready", 0)}},
		"not what is older":                          {lines: tape{run("everysec", 1000), enqueue(1, "a"), killed(1100), account}, breaks: "I1"},
		"not what came after":                        {lines: tape{run("everysec", 1000), enqueue(10, "a"), killed(5), account}, breaks: "I1"},
		"not with always":                            {lines: tape{run("always", 1000), enqueue(1, "a"), killed(2), account}, breaks: "I1"},
		"a server in memory forgets all":             {lines: tape{run("none", 0), enqueue(1, "a"), killed(100_000), account}},
		"a frozen one forgets nothing": {
			lines:  tape{run("everysec", 1000), enqueue(1, "a"), line(history.OpFault, 2, "", in(""), code("redis frozen")), account},
			breaks: "I1",
		},
		"a kill that did not fire is none": {
			lines:  tape{run("everysec", 1000), enqueue(1, "a"), line(history.OpFault, 2, "", in(""), code("redis killed"), outcome(history.Fail)), account},
			breaks: "I1",
		},
		"what one answer is lasting about is not forgotten": {
			lines:  tape{run("everysec", 1000), enqueue(1, "a"), enqueue(1500, "a", code("duplicate")), killed(2000), account},
			breaks: "I1",
		},
	})
}

func TestCheck_NoGhost(t *testing.T) {
	hold(t, "I2", map[string]fact{
		"what was sent is delivered":        {lines: whole("a")},
		"an unknown answer is an attempt":   {lines: tape{enqueue(1, "a", outcome(history.Unknown)), attempt(2, "a", 1)}},
		"a row is as good as an enqueue":    {lines: tape{line(history.OpRow, 1, "a", hash("h")), attempt(2, "a", 1)}},
		"a delivery of nothing is a ghost":  {lines: tape{attempt(2, "a", 1)}, breaks: "I2", text: "nobody enqueued it"},
		"so is a job that merely stands":    {lines: tape{stands("a", "ready", 0)}, breaks: "I2"},
		"in another queue it is another":    {lines: tape{enqueue(1, "a", in("p")), attempt(2, "a", 1)}, breaks: "I2"},
		"another payload is found":          {lines: tape{enqueue(1, "a"), attempt(2, "a", 1, hash("x"))}, breaks: "I2", text: "not what was sent"},
		"a conflict's payload is not taken": {lines: tape{enqueue(1, "a"), enqueue(2, "a", hash("x"), outcome(history.Fail)), attempt(3, "a", 1, hash("x"))}, breaks: "I2"},
		"an event is what a subscription delivers": {
			lines: tape{enqueue(1, "e", in("topic:t")), attempt(2, "e", 1, in("t/s"), of("e"))},
		},
		"a replay has an ID of its own": {
			lines: tape{enqueue(1, "e", in("topic:t")), attempt(2, "r.1", 1, in("t/s"), of("e"))},
		},
		"an event of another topic is a ghost": {
			lines:  tape{enqueue(1, "e", in("topic:t")), attempt(2, "e", 1, in("u/s"), of("e"))},
			breaks: "I2",
		},
	})
}

func TestCheck_Refused(t *testing.T) {
	no := enqueue(1, "a", code("rejected"), outcome(history.Fail))
	hold(t, "I3", map[string]fact{
		"what was refused is not there": {lines: tape{no}},
		"it is delivered":               {lines: tape{no, attempt(2, "a", 1)}, breaks: "I3", text: "refused"},
		"it stands":                     {lines: tape{no, stands("a", "ready", 0)}, breaks: "I3"},
		"another asked and was accepted": {
			lines: tape{no, enqueue(2, "a"), attempt(3, "a", 1), enqueue(4, "b", code("conflict"), outcome(history.Fail))},
		},
		"another asked and was not answered": {
			lines: tape{no, enqueue(2, "a", outcome(history.Unknown)), attempt(3, "a", 1), enqueue(4, "b", outcome(history.Fail))},
		},
		"an event that was refused is delivered": {
			lines:  tape{enqueue(1, "e", in("topic:t"), outcome(history.Fail)), attempt(2, "e", 1, in("t/s"), of("e"))},
			breaks: "I3",
		},
	})
}

func TestCheck_Rows(t *testing.T) {
	account := line(history.OpQueue, 0, "")
	row := line(history.OpRow, 1, "a", hash("h"))
	back := line(history.OpRow, 1, "a", hash("h"), outcome(history.Fail))
	hold(t, "I12", map[string]fact{
		"a committed row is a job":               {lines: tape{row, stands("a", "ready", 0)}},
		"it has ended":                           {lines: tape{row, attempt(2, "a", 1), end(3, "a", 1, "completed"), account}},
		"it never came":                          {lines: tape{row, account}, breaks: "I12", text: "committed"},
		"a row that was rolled back is none":     {lines: tape{back, account}},
		"it is delivered all the same":           {lines: tape{back, attempt(2, "a", 1)}, breaks: "I12", text: "rolled back"},
		"it is enqueued all the same":            {lines: tape{back, enqueue(2, "a"), end(3, "a", 1, "completed")}, breaks: "I12"},
		"nobody knows of the commit":             {lines: tape{line(history.OpRow, 1, "a", outcome(history.Unknown)), attempt(2, "a", 1)}},
		"the second transaction was committed":   {lines: tape{back, row, stands("a", "ready", 0)}},
		"what was enqueued is lost, which is I1": {lines: tape{row, enqueue(2, "a"), account}, breaks: "I1"},
		"a server that died may have forgotten it": {
			lines: tape{run("everysec", 1000), row, account, killed(5000)},
		},
	})
}

func TestCheck_OneIdentity(t *testing.T) {
	again := func(at int64, change ...func(*history.Event)) history.Event {
		return enqueue(at, "a", append([]func(*history.Event){code("duplicate")}, change...)...)
	}
	run5 := history.Event{Op: history.OpRun, WindowMS: 5}
	hold(t, "I7", map[string]fact{
		"asking again gets the first answer":  {lines: whole("a").and(again(5))},
		"another payload is taken as it":      {lines: whole("a").and(again(5, hash("x"))), breaks: "I7", text: "two payloads"},
		"other headers are no other work":     {lines: whole("a").but(0, enqueue(1, "a", fingerprint("f")), again(5, hash("x"), fingerprint("f")))},
		"another fingerprint is":              {lines: whole("a").but(0, enqueue(1, "a", fingerprint("f")), again(5, fingerprint("g"))), breaks: "I7", text: "two payloads"},
		"a conflict is no taking":             {lines: whole("a").and(again(5, hash("x"), outcome(history.Fail)))},
		"it is accepted twice":                {lines: whole("a").and(enqueue(5, "a")), breaks: "I7", text: "accepted twice"},
		"the window is over":                  {lines: whole("a").and(run5, enqueue(8, "a"))},
		"the window is not over":              {lines: whole("a").and(run5, enqueue(6, "a")), breaks: "I7"},
		"it was deleted between":              {lines: whole("a").and(line(history.OpDelete, 5, "a"), enqueue(6, "a"))},
		"the first was forgotten":             {lines: whole("a").and(run("everysec", 1000), killed(5), enqueue(6, "a"))},
		"the first was not forgotten":         {lines: whole("a").and(run("everysec", 2), killed(5), enqueue(6, "a")), breaks: "I7"},
		"taken anew with another payload":     {lines: whole("a").and(run5, enqueue(8, "a", hash("x")), again(9, hash("x")))},
		"a duplicate of what was before that": {lines: whole("a").and(run5, enqueue(8, "a", hash("x")), again(9)), breaks: "I7"},
	})
}
