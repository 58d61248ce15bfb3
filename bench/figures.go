package main

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"runtime"
	"slices"
)

// figure is one number of the benchmark, over all rounds.
type figure struct {
	Name   string  `json:"figure"`
	Layout string  `json:"layout"` // waybill, bare, or ratio: the first by the second, round by round
	Unit   string  `json:"unit"`
	Batch  int     `json:"batch"`
	Jobs   int     `json:"jobs"` // a round
	Rounds int     `json:"rounds"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// spread fills in median and limits of some values.
func (f figure) spread(values []float64) figure {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	f.Median, f.Min, f.Max = short((s[(n-1)/2]+s[n/2])/2), short(s[0]), short(s[n-1])
	return f
}

// short cuts a number to four places.
func short(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// measurand is what is told of a run.
type measurand struct {
	name, unit string
	of         func(result) float64
}

// all gives a number for each of the results.
func (m measurand) all(results []result) []float64 {
	out := make([]float64, len(results))
	for i, r := range results {
		out[i] = m.of(r)
	}
	return out
}

var measurands = []measurand{
	{"enqueue cpu", "µs/job", func(r result) float64 { return r.enqueue.main }},
	{"claim cpu", "µs/job", func(r result) float64 { return r.claim.main }},
	{"settle cpu", "µs/job", func(r result) float64 { return r.settle.main }},
	{cycleCPU, "µs/job", func(r result) float64 { return r.cycle().main }},
	{"enqueue cpu, all threads", "µs/job", func(r result) float64 { return r.enqueue.total }},
	{"claim+settle cpu, all threads", "µs/job", func(r result) float64 { return r.cycle().total }},
	{"enqueue commands", "calls/job", func(r result) float64 { return r.enqueue.calls }},
	{"claim commands", "calls/job", func(r result) float64 { return r.claim.calls }},
	{"settle commands", "calls/job", func(r result) float64 { return r.settle.calls }},
	{waitingMemory, "B/job", func(r result) float64 { return r.memory }},
}

// stepMeasurands is how many of them are told of a step: those of the main thread.
const stepMeasurands = 4

// Names of the figures that have a target.
const (
	cycleCPU      = "claim+settle cpu"
	waitingMemory = "waiting job"
)

// compare gives the figures of two layouts from the means of their rounds.
func compare(l load, ours, theirs []result) []figure {
	var out []figure
	for _, m := range measurands {
		a, b := m.all(ours), m.all(theirs)
		f := figure{Name: m.name, Layout: "waybill", Unit: m.unit, Batch: l.batch, Jobs: l.jobs, Rounds: len(ours)}
		out = append(out, f.spread(a))
		f.Layout = "bare"
		out = append(out, f.spread(b))
		f.Layout, f.Unit = "ratio", "1"
		for i := range a {
			a[i] /= b[i]
		}
		out = append(out, f.spread(a))
	}
	return out
}

// stepFigures tells what a part of the store costs, from the blocks of all rounds: with it, less
// without it.
func stepFigures(l load, rounds int, name string, with, without []result) []figure {
	var out []figure
	for _, m := range measurands[:stepMeasurands] {
		a, b := m.all(with), m.all(without)
		for i := range a {
			a[i] -= b[i]
		}
		f := figure{Name: m.name + ": " + name, Layout: "waybill", Unit: m.unit, Batch: l.batch, Jobs: l.jobs, Rounds: rounds}
		out = append(out, f.spread(a))
	}
	return out
}

// machine is what figures were made on.
type machine struct {
	Server string `json:"server"`
	CPUs   int    `json:"cpus"`
	System string `json:"system"`
}

// writeMachine starts a server once, to ask it what it is.
func writeMachine(ctx context.Context, w io.Writer) error {
	s, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	return json.NewEncoder(w).Encode(machine{s.version, runtime.NumCPU(), runtime.GOOS + "/" + runtime.GOARCH})
}

func writeJSON(w io.Writer, figures []figure) error {
	enc := json.NewEncoder(w)
	for _, f := range figures {
		if err := enc.Encode(f); err != nil {
			return err
		}
	}
	return nil
}
