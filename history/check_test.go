package history_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/history"
)

func TestCheck_Lines(t *testing.T) {
	t.Parallel()
	good := `{"op":"enqueue","queue":"q","job":"a","outcome":"ok","done":1}`
	for what, tc := range map[string]struct {
		line, why string
	}{
		"no JSON":            {`{"op":`, "it is no JSON object, or was cut off: unexpected end of JSON input: "},
		"an array":           {`[1]`, "it is no JSON object: have array: "},
		"another type":       {`{"op":"job","queue":7}`, "queue: want a string, have number: "},
		"a part of a number": {`{"op":"job","done":1.5}`, "done: want a whole number, have number 1.5: "},
		"stats as a list":    {`{"op":"queue","queue":"q","stats":[]}`, "stats: want an object, have array: "},
		"an unknown grade":   {`{"op":"run","grade":"alway"}`, `grade: "alway" is not always, everysec, rdb or none: `},
		"an unknown op":      {`{"op":"dream"}`, `op: "dream"`},
		"no op":              {`{}`, "op: it is missing: "},
		"an unknown outcome": {`{"op":"row","queue":"q","job":"a","outcome":"fine","done":1}`, `outcome: "fine"`},
		"no queue":           {`{"op":"attempt","job":"a","number":1,"done":1}`, "queue: it is missing"},
		"no job":             {`{"op":"enqueue","queue":"q","outcome":"ok","done":1}`, "job: it is missing"},
		"no number":          {`{"op":"attempt","queue":"q","job":"a","done":1}`, "number: it is missing"},
		"no time":            {`{"op":"attempt","queue":"q","job":"a","number":1}`, "done: it is missing"},
		"a line without end": {`{"op":"` + strings.Repeat("a", 1<<20), "longer than"},
	} {
		t.Run(what+" is told with its line", func(t *testing.T) {
			t.Parallel()
			_, err := history.Check(strings.NewReader(good + "\n\n" + tc.line + "\n"))
			at, ok := errors.AsType[*history.LineError](err)
			if !ok || !errors.Is(err, history.ErrUnreadable) || at.Line != 3 || !strings.Contains(err.Error(), tc.why) {
				t.Errorf("check: %v", err)
			}
		})
	}
	t.Run("fields of other versions are passed over", func(t *testing.T) {
		t.Parallel()
		r, err := history.Check(strings.NewReader(strings.Replace(good, `{`, `{"colour":"red",`, 1)))
		if err != nil || r.Accepted != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("a refused job may be without ID", func(t *testing.T) {
		t.Parallel()
		r, err := history.Check(tape{enqueue(1, "", outcome(history.Fail), code("invalid"))}.read(t))
		if err != nil || r.Rejected != 1 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestCheck_Counts(t *testing.T) {
	t.Parallel()
	l := append(whole("a"),
		enqueue(1, "b", outcome(history.Unknown)), attempt(2, "b", 1), attempt(9, "b", 2),
		enqueue(1, "c", outcome(history.Unknown)),
		enqueue(1, "d", outcome(history.Fail)),
		enqueue(1, "e"),
		attempt(5, "ghost", 1),
		line(history.OpEffect, 0, "a", in("s")), line(history.OpEffect, 0, "a", in("s")), line(history.OpReceipt, 0, "a", in("s")),
		killed(5), killed(6),
		line(history.OpFault, 0, "", in(""), code("worker killed")),
		line(history.OpFault, 0, "", in(""), code("worker killed"), outcome(history.Fail)),
		line(history.OpFault, 0, "", in(""), code("cut")),
	)
	r, err := history.Check(l.read(t))
	must(t, err)
	r.Invariants = nil
	want := "{Lines:19 Seeds:[] Jobs:6 Accepted:2 Rejected:1 Unknown:2 Recovered:1 Lost:1 Forgotten:0 Unexpected:1 Deliveries:4 " +
		"Redelivered:1 Effects:2 Receipts:1 Doubled:1 Faults:map[cut:1 redis killed:2 worker killed:1] Unfired:1 Kills:3 Invariants:[]}"
	if got := fmt.Sprintf("%+v", r); got != want {
		t.Errorf("counted\n%s, want\n%s", got, want)
	}
}

func TestCheck_Shown(t *testing.T) {
	t.Parallel()
	var l tape
	for i := range 30 {
		l = append(l, attempt(1, fmt.Sprint(i), 1))
	}
	r, err := history.Check(l.read(t))
	must(t, err)
	if i := r.Invariant("I2"); i.Violated != 30 || len(i.Violations) != 20 {
		t.Errorf("of 30 violations %d are counted, %d shown", i.Violated, len(i.Violations))
	}
	if got := r.Invariant("I2").Violations[4].Lines[0]; got.Number != 5 || !strings.HasPrefix(got.Text, "attempt number 1 done") {
		t.Errorf("the line is told as %+v", got)
	}
	if i := r.Invariant("I6"); i.Looked != 0 || i.Violated != 0 || r.Invariant("I99") != nil {
		t.Errorf("%+v", i)
	}
}
