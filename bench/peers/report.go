package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// write prints tables and targets.
func write(w io.Writer, host machine, s settings, all []trial) error {
	fmt.Fprintf(w, "%d CPUs, %s, %s, %s; waybill %s, asynq %s, both on go-redis %s\n",
		host.CPUs, host.System, host.Server, host.Go, host.Commit, host.Asynq, host.GoRedis)
	fmt.Fprintf(w, "payload %d bytes, AOF everysec, loopback; %d jobs a trial; median (min to max) of %d\n\n",
		payloadBytes, s.jobs, s.runs)
	tables := []struct {
		tell func(trial) bool
		with func(io.Writer, []measurement, []trial) error
	}{
		{func(t trial) bool { return t.Rate > 0 }, writeRates},
		{func(t trial) bool { return t.FromReturn != nil }, writePickups},
		{func(t trial) bool { return t.Measure == idleWorker }, writeIdle},
	}
	for _, t := range tables {
		if !slices.ContainsFunc(all, t.tell) {
			continue
		}
		if err := t.with(w, s.chosen(), all); err != nil {
			return err
		}
	}
	return writeTargets(w, all)
}

// column is a value of a trial that a table tells by its median.
type column struct {
	head string
	of   func(trial) float64
}

// columns stand behind the rates.
func columns() []column {
	return []column{
		{"redis µs", func(t trial) float64 { return t.RedisCPU }},
		{"client µs", func(t trial) float64 { return t.ClientCPU }},
		{"commands", func(t trial) float64 { return t.Commands }},
		{"allocs", func(t trial) float64 { return t.Allocs }},
		{"alloc B", func(t trial) float64 { return t.AllocBytes }},
		{"a enqueue", func(t trial) float64 { return t.EnqueueBatch }},
		{"a claim", func(t trial) float64 { return t.ClaimBatch }},
		{"a settle", func(t trial) float64 { return t.SettleBatch }},
	}
}

func writeRates(w io.Writer, measurements []measurement, all []trial) error {
	t := table(w)
	fmt.Fprint(t, "measure\tsystem\tjobs/s\tby asynq\tby bare\t")
	for _, c := range columns() {
		fmt.Fprintf(t, "%s\t", c.head)
	}
	fmt.Fprintln(t)
	for _, m := range measurements {
		r := resultsOf(all, m.name)
		for _, system := range []string{sysWaybill, sysAsynq, sysBare} {
			rate := r.of(system, func(t trial) float64 { return t.Rate })
			if rate.median == 0 {
				continue
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t", m.name, system, rate.cell(), r.by(system, sysAsynq), r.by(system, sysBare))
			for _, c := range columns() {
				fmt.Fprintf(t, "%s\t", r.of(system, c.of).middle())
			}
			fmt.Fprintln(t)
		}
	}
	return end(w, t, "µs, commands (those inside scripts too) and allocations are a job; a VERB: jobs a call of that script")
}

// by prints the ratio of a system to another one.
func (r results) by(system, other string) string {
	if system == other {
		return "-"
	}
	return r.ratio(system, other).cell()
}

func writePickups(w io.Writer, measurements []measurement, all []trial) error {
	t := table(w)
	fmt.Fprintln(t, "pick-up, ms\tsystem\tp50\tp99\tmax\tcall p50\tcall p99\tcall max\tredis µs\tcommands\t")
	for _, m := range measurements {
		r := resultsOf(all, m.name)
		for _, system := range []string{sysWaybill, sysAsynq, sysEager} {
			if len(r[system]) == 0 || r[system][0].FromReturn == nil {
				continue
			}
			fmt.Fprintf(t, "%s\t%s\t", m.name, system)
			for _, q := range quantileColumns() {
				fmt.Fprintf(t, "%s\t", r.of(system, q).cell())
			}
			fmt.Fprintf(t, "%s\t%s\t\n", r.of(system, func(t trial) float64 { return t.RedisCPU }).middle(),
				r.of(system, func(t trial) float64 { return t.Commands }).middle())
		}
	}
	return end(w, t, "from the return of the enqueue call to the start of the handler (negative: the handler was first); call: from before the call")
}

func quantileColumns() []func(trial) float64 {
	return []func(trial) float64{
		func(t trial) float64 { return t.FromReturn.P50 },
		func(t trial) float64 { return t.FromReturn.P99 },
		func(t trial) float64 { return t.FromReturn.Max },
		func(t trial) float64 { return t.FromCall.P50 },
		func(t trial) float64 { return t.FromCall.P99 },
		func(t trial) float64 { return t.FromCall.Max },
	}
}

func writeIdle(w io.Writer, _ []measurement, all []trial) error {
	r := resultsOf(all, idleWorker)
	t := table(w)
	fmt.Fprintln(t, "idle worker\tcommands sent/s\tcarried out/s\tclient CPU %\t")
	for _, system := range []string{sysWaybill, sysAsynq} {
		if len(r[system]) > 0 {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t\n", system, r.of(system, idleSent).cell(),
				r.of(system, func(t trial) float64 { return t.IdleCarried }).cell(),
				r.of(system, func(t trial) float64 { return t.IdleClient }).cell())
		}
	}
	return end(w, t, "carried out: by Redis, commands inside scripts too")
}

func table(w io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
}

func end(w io.Writer, t *tabwriter.Writer, note string) error {
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "(%s)\n\n", note)
	return err
}
