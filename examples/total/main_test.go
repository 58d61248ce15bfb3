package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain lets the workers, which are processes of this same program, run as such.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childWord {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestTotal(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	s, err := open(ctx, options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	lines, err := s.runAll(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	show(&table, lines)
	t.Logf("\n%s", table.String())

	const held, done, nothing = "1 job, 1 active", "no job, 1 completed", "nothing"
	facts := []struct {
		name string
		want line
	}{
		{"a job whose worker was killed is still there, and applied once", line{"receipt, killed after the claim", 2, 1, 10, held, done}},
		{"a job is delivered twice and applied once", line{"receipt, killed between commit and settle", 2, 1, 10, held, done}},
		{"without a receipt it is applied twice", line{"no receipt, killed between commit and settle", 2, 2, 20, held, done}},
		{"a receipt before the effect loses it", line{"receipt committed before the effect, killed between", 2, 0, 0, held, done}},
		{"a receipt after the effect doubles it", line{"receipt committed after the effect, killed between", 2, 2, 20, held, done}},
		{"RPOP leaves nothing to recover", line{"RPOP, killed after it", 1, 0, 0, nothing, nothing}},
		{"ack first loses the effect", line{"removed from the processing list first, killed before the effect", 1, 0, 0, nothing, nothing}},
		{"removal by value takes another worker's record", line{"removed by value by a late worker, the next one killed", 2, 0, 0, nothing, nothing}},
	}
	if len(lines) != len(facts) {
		t.Fatalf("%d lines, %d facts", len(lines), len(facts))
	}
	for i, fact := range facts {
		t.Run(fact.name, func(t *testing.T) {
			if lines[i] != fact.want {
				t.Errorf("got  %+v\nwant %+v", lines[i], fact.want)
			}
		})
	}
}
