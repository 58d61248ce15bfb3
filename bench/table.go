package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Targets, at batches of 100.
const (
	targetBatch  = 100
	targetRatio  = 1.6 // claim+settle CPU by that of the bare layout
	targetMemory = 400 // bytes a waiting job
)

// writeTable lays out the figures of a comparison.
func writeTable(w io.Writer, figures []figure) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "batch\tfigure\twaybill\tbare\tratio\tratio, rounds\tunit\t")
	for i := 0; i+2 < len(figures); i += 3 {
		a, b, r := figures[i], figures[i+1], figures[i+2]
		fmt.Fprintf(t, "%d\t%s\t%.2f\t%.2f\t%.2f\t%.2f to %.2f\t%s\t\n",
			a.Batch, a.Name, a.Median, b.Median, r.Median, r.Min, r.Max, a.Unit)
	}
	return t.Flush()
}

// writeSteps lays out what the parts cost.
func writeSteps(w io.Writer, figures []figure) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "part\tenqueue µs\tclaim µs\tsettle µs\tclaim+settle µs\t")
	for i := 0; i < len(figures); i += stepMeasurands {
		fmt.Fprintf(t, "%s\t", figures[i].Name[len(measurands[0].name)+2:])
		for _, f := range figures[i : i+stepMeasurands] {
			fmt.Fprintf(t, "%.2f\t", f.Median)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// writeTargets says which targets are met.
func writeTargets(w io.Writer, figures []figure) error {
	for _, f := range figures {
		if f.Batch != targetBatch {
			continue
		}
		limit := 0.0
		switch {
		case f.Name == cycleCPU && f.Layout == "ratio":
			limit = targetRatio
		case f.Name == waitingMemory && f.Layout == "waybill":
			limit = targetMemory
		default:
			continue
		}
		word := "met"
		if f.Median > limit {
			word = "missed"
		}
		if _, err := fmt.Fprintf(w, "%s, %s: %.2f, target %.1f: %s\n", f.Name, f.Layout, f.Median, limit, word); err != nil {
			return err
		}
	}
	return nil
}
