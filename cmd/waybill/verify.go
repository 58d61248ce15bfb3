package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/history"
)

func (a *app) verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "verify HISTORY...", Short: "Check what a run wrote down against the promises", Args: between(1, 1000),
		Long: `Verify reads the history of a run, as producers and workers wrote it down with the Go package
history or as lines of JSON, and checks that the promises were kept: nothing lost, nothing done twice, no lie told.
Several files are taken as one history; - is stdin. It needs no Redis.

Exit status: 0 where all promises were kept, as far as the history shows; 1 where one was not; 2 where a
history can't be read, or has no line that says anything of a promise.

Promises are named I1 to I16. The report tells those that were not kept in words; --json has the words of all, and so has
docs/guides/verify.md. One that is "not checked" was not shown to be kept: lines of its kind are missing.`,
		RunE: func(_ *cobra.Command, names []string) error { return a.verify(names) },
	}
}

func (a *app) verify(names []string) error {
	files, closeAll, err := a.openHistories(names)
	if err != nil {
		return err
	}
	defer closeAll()
	r, err := files.check()
	if err != nil {
		return err
	}
	if a.json {
		err = printJSON(a.stdout, r)
	} else {
		err = a.printReport(r)
	}
	if err != nil || r.Clean() {
		return err
	}
	a.say("%s not kept: the lines show where", strings.Join(promises(r, violated), " "))
	return told(exitOther)
}

// printReport prints a report for people: the account, what was kept, what was not.
func (a *app) printReport(r history.Report) error {
	if err := a.printRows(reportRows(r)); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("\n")
	if names := promises(r, kept); len(names) > 0 {
		fmt.Fprintf(&b, "%s: %s\n", a.paint(a.stdout, green, "kept"), strings.Join(names, " "))
	}
	if names := promises(r, unseen); len(names) > 0 {
		fmt.Fprintf(&b, "not checked, for want of lines: %s\n", strings.Join(names, " "))
	}
	for _, i := range r.Invariants {
		a.describe(&b, i)
	}
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}

// reportRows are the account, a number a row.
func reportRows(r history.Report) [][]cell {
	var rows [][]cell
	add := func(name string, n int64, more string) {
		rows = append(rows, []cell{{name, bold}, {text: thousands(n) + more}})
	}
	add("lines", r.Lines, "")
	add("jobs", r.Jobs, fmt.Sprintf(": %s accepted, %s rejected, %s unknown, of which %s turned up", thousands(r.Accepted),
		thousands(r.Rejected), thousands(r.Unknown), thousands(r.Recovered)))
	add("lost", r.Lost, fmt.Sprintf("; %s forgotten by servers that died, as their grade allows", thousands(r.Forgotten)))
	add("unexpected", r.Unexpected, "")
	add("deliveries", r.Deliveries, fmt.Sprintf(", of which %s again", thousands(r.Redelivered)))
	if r.Effects+r.Receipts > 0 {
		add("effects", r.Effects, fmt.Sprintf(" of %s, %s doubled", grouped(r.Receipts, "receipt"), thousands(r.Doubled)))
	}
	if len(r.Faults)+int(r.Unfired) > 0 {
		all := int64(0)
		for _, n := range r.Faults {
			all += n
		}
		add("faults", all, fmt.Sprintf(", of which %s; %s did not fire", grouped(r.Kills, "kill"), thousands(r.Unfired)))
	}
	for _, code := range slices.Sorted(maps.Keys(r.Faults)) {
		add("  "+visible(code, ""), r.Faults[code], "")
	}
	for _, seed := range r.Seeds {
		rows = append(rows, []cell{{"seed", bold}, {text: fmt.Sprint(seed)}})
	}
	return rows
}

// describe tells how a promise was not kept.
func (a *app) describe(b *strings.Builder, i history.Invariant) {
	if i.Violated == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s: %s: %s\n", a.paint(a.stdout, red, i.Name+" not kept"), i.Text, grouped(i.Violated, "violation"))
	for _, v := range i.Violations {
		fmt.Fprintf(b, "  %s\n", strings.TrimSpace(oneLine(jobName(v))+" "+oneLine(v.Text)))
		for _, l := range v.Lines {
			fmt.Fprintf(b, "    %s:%d  %s\n", visible(l.File, ""), l.Number, oneLine(l.Text))
		}
	}
	if rest := i.Violated - int64(len(i.Violations)); rest > 0 {
		fmt.Fprintf(b, "  … and %s more\n", thousands(rest))
	}
}

// jobName is the queue and job of a violation.
func jobName(v history.Violation) string {
	switch {
	case v.Queue == "":
		return ""
	case v.Job == "":
		return "queue " + v.Queue + ":"
	}
	return "job " + v.Job + " in queue " + v.Queue + ":"
}

// promises are the names of those for which a condition holds.
func promises(r history.Report, is func(history.Invariant) bool) (names []string) {
	for _, i := range r.Invariants {
		if is(i) {
			names = append(names, i.Name)
		}
	}
	return names
}

func kept(i history.Invariant) bool     { return i.Violated == 0 && i.Looked > 0 }
func unseen(i history.Invariant) bool   { return i.Violated == 0 && i.Looked == 0 }
func violated(i history.Invariant) bool { return i.Violated > 0 }
