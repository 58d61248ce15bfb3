package main

import (
	"fmt"
	"math"
	"slices"
)

// spread is a value over the repetitions.
type spread struct{ min, median, max float64 }

func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{}
	}
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return spread{s[0], (s[(n-1)/2] + s[n/2]) / 2, s[n-1]}
}

// cell prints a spread, least and most behind the median; "-" where there is no value.
func (s spread) cell() string {
	if s == (spread{}) {
		return "-"
	}
	return fmt.Sprintf("%s (%s to %s)", figure(s.median), figure(s.min), figure(s.max))
}

// middle prints the median alone.
func (s spread) middle() string {
	if s == (spread{}) {
		return "-"
	}
	return figure(s.median)
}

// figure prints a number with the places that mean something here.
func figure(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// results are the trials of one measurement, by system: one a repetition, the best where a
// system took part in more than one way.
type results map[string][]trial

func resultsOf(all []trial, measure string) results {
	out := results{}
	for _, t := range all {
		if t.Measure != measure {
			continue
		}
		mine := out[t.System]
		if n := len(mine); n > 0 && mine[n-1].Run == t.Run {
			if t.Rate > mine[n-1].Rate {
				mine[n-1] = t
			}
			continue
		}
		out[t.System] = append(mine, t)
	}
	return out
}

// of gives the spread of one value of a system.
func (r results) of(system string, value func(trial) float64) spread {
	var values []float64
	for _, t := range r[system] {
		values = append(values, value(t))
	}
	return spreadOf(values)
}

// ratio gives the spread of a system's rate by another's, repetition by repetition.
func (r results) ratio(system, by string) spread {
	var values []float64
	for _, a := range r[system] {
		for _, b := range r[by] {
			if a.Run == b.Run && b.Rate > 0 {
				values = append(values, a.Rate/b.Rate)
			}
		}
	}
	return spreadOf(values)
}
