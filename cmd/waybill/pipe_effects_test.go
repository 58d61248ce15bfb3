package main_test

import (
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

func TestPipe_effects(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		say  string
		want [3]int64
	}{
		"are counted":                                    {`"outcome":"ack","effects":3,"suppressed":2,"mismatches":1`, [3]int64{3, 2, 1}},
		"of a failure too":                               {`"outcome":"dead","error":"no","effects":1000`, [3]int64{1000, 0, 0}},
		"as a language spells whole numbers":             {`"outcome":"ack","suppressed":2.0e0`, [3]int64{0, 2, 0}},
		"are none where nothing is told":                 {`"outcome":"ack"`, [3]int64{}},
		"are none where one of them is no number of any": {`"outcome":"ack","effects":5,"suppressed":1.5`, [3]int64{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			c := client(t, s)
			send(t, c, waybill.Request{Queue: "q", Kind: "k", ID: "id", MaxFailures: 1})
			got := waybillOn(t, s, "", "work", "--queue", "q=1", "--until-empty", "--pipe", "sh", "-c", pipeLoop("say '"+tc.say+"'"))
			if got.status != 0 {
				t.Fatalf("status %d: %s", got.status, got.err)
			}
			st, err := c.Queue("q").Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if is := [3]int64{st.Effects, st.Suppressed, st.Mismatches}; is != tc.want {
				t.Errorf("the queue counts %v, want %v", is, tc.want)
			}
		})
	}
}
