package main

import (
	"fmt"
	"io"
)

// Targets of the project.
const (
	targetDrain   = 12.0     // times asynq's rate
	targetEnqueue = 2.0      // the same
	targetP50     = 1.0      // ms from the return of the enqueue call
	targetP99     = 5.0      // the same
	targetCycle   = 30_000.0 // jobs/s where the bare layout reaches
	cycleBare     = 55_000.0
	targetIdle    = 5.0 // commands a second
)

// target is a figure with its bound.
type target struct {
	name  string
	got   spread
	unit  string
	bound float64
	most  bool // the bound is the most that is allowed, else the least
}

func (t target) met() bool {
	if t.most {
		return t.got.median < t.bound
	}
	return t.got.median >= t.bound
}

// targets gives those of which there are figures.
func targets(all []trial) []target {
	drained, enqueued, cycled := resultsOf(all, drainAll), resultsOf(all, enqueue50), resultsOf(all, wholeCycle)
	picked, idled := resultsOf(all, pickup10), resultsOf(all, idleWorker)
	out := []target{
		{"drain by asynq", drained.ratio(sysWaybill, sysAsynq), "times", targetDrain, false},
		{"enqueue of 50 callers by asynq", enqueued.ratio(sysWaybill, sysAsynq), "times", targetEnqueue, false},
		{
			"cycle by the bare layout's (30,000 jobs/s where that reaches 55,000)",
			cycled.ratio(sysWaybill, sysBare), "times", targetCycle / cycleBare, false,
		},
		{"cycle as it is here", cycled.of(sysWaybill, func(t trial) float64 { return t.Rate }), "jobs/s", targetCycle, false},
		{"commands of an idle worker", idled.of(sysWaybill, idleSent), "a second", targetIdle, true},
	}
	if len(picked[sysWaybill]) > 0 {
		out = append(
			out,
			target{"pick-up p50", picked.of(sysWaybill, func(t trial) float64 { return t.FromReturn.P50 }), "ms", targetP50, true},
			target{"pick-up p99", picked.of(sysWaybill, func(t trial) float64 { return t.FromReturn.P99 }), "ms", targetP99, true},
		)
	}
	return out
}

func idleSent(t trial) float64 { return t.IdleSent }

// writeTargets says which targets are met, by the median of the repetitions.
func writeTargets(w io.Writer, all []trial) error {
	for _, t := range targets(all) {
		if t.got == (spread{}) {
			continue
		}
		word, bound := "missed", "at least"
		if t.met() {
			word = "met"
		}
		if t.most {
			bound = "less than"
		}
		_, err := fmt.Fprintf(w, "target %-6s  %s: %s %s, %s %s\n", word, t.name, t.got.cell(), t.unit, bound, figure(t.bound))
		if err != nil {
			return err
		}
	}
	return nil
}
