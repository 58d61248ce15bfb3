// Command sum prints what the tiers of a fault run counted, from the file that they wrote, and fails where too little went wrong
// or where something was lost or done twice.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"text/tabwriter"

	"github.com/waybillhq/waybill/test/fault/extent"
)

func main() {
	log.SetFlags(0)
	faults := flag.Int64("faults", 0, "at least so many faults must have fired")
	jobs := flag.Int64("jobs", 0, "at least so many jobs must have been there")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: sum [-faults N] [-jobs N] FILE")
	}
	file, err := os.Open(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	all, err := read(file)
	if err != nil {
		log.Fatal(err)
	}
	total := print(all)
	switch {
	case total.Lost > 0 || total.Doubled > 0:
		log.Fatalf("%d jobs were lost and %d effects done twice", total.Lost, total.Doubled)
	case total.Faults < *faults:
		log.Fatalf("%d faults fired, want %d", total.Faults, *faults)
	case total.Jobs < *jobs:
		log.Fatalf("there were %d jobs, want %d", total.Jobs, *jobs)
	}
}

func read(r io.Reader) (all []extent.Sum, err error) {
	for d := json.NewDecoder(r); ; {
		var s extent.Sum
		if err := d.Decode(&s); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
}

// print prints a table and gives its last line.
func print(all []extent.Sum) extent.Sum {
	total := extent.Sum{Tier: "all"}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "tier\tseconds\tfaults\tkills\tjobs\tdeliveries\teffects\tlost\tforgotten\tdoubled\tseed")
	for _, s := range all {
		line(w, s, fmt.Sprint(s.Seed))
		total.Seconds += s.Seconds
		total.Faults, total.Kills = total.Faults+s.Faults, total.Kills+s.Kills
		total.Jobs, total.Deliveries, total.Effects = total.Jobs+s.Jobs, total.Deliveries+s.Deliveries, total.Effects+s.Effects
		total.Lost, total.Forgotten, total.Doubled = total.Lost+s.Lost, total.Forgotten+s.Forgotten, total.Doubled+s.Doubled
	}
	line(w, total, "")
	_ = w.Flush()
	return total
}

func line(w io.Writer, s extent.Sum, seed string) {
	fmt.Fprintf(w, "%s\t%.0f\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n",
		s.Tier, s.Seconds, s.Faults, s.Kills, s.Jobs, s.Deliveries, s.Effects, s.Lost, s.Forgotten, s.Doubled, seed)
}
