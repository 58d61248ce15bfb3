// Command scale shows that nothing gets slow when a million jobs wait: what an operator looks at, bulk changes beside
// a busy queue, and the rates of enqueue and work at depths from a thousand to a million. It starts a redis-server of
// its own, with an append-only file, and prints the table that docs/benchmarks.md shows.
//
// The last lines say what was too slow, by the bounds that follow; the exit status is then 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"
)

// Bounds that the program checks.
const (
	mostLook    = 50 * time.Millisecond // of what an operator looks at
	mostCall    = 25 * time.Millisecond // of any single command, by the server's slow log
	mostStretch = 2.0                   // of another queue's pick-up, p99, while jobs are changed in bulk
)

// settings are the flags.
type settings struct {
	waiting, scheduled, dead int
	rate                     int           // jobs a second in the other queue
	base                     time.Duration // how long its pick-up is measured before
	depths                   []int
}

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := settings{base: 15 * time.Second, depths: []int{1_000, 10_000, 100_000, 1_000_000}}
	flag.IntVar(&s.waiting, "waiting", 1_000_000, "jobs that wait")
	flag.IntVar(&s.scheduled, "scheduled", 1_000_000, "jobs that are due later")
	flag.IntVar(&s.dead, "dead", 200_000, "dead jobs")
	flag.IntVar(&s.rate, "rate", 1000, "jobs a second in the other queue")
	flag.Parse()
	misses, err := measure(ctx, s, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		return 1
	}
	for _, m := range misses {
		fmt.Println("too slow:", m)
	}
	return min(1, len(misses))
}

// measure does all of it, and gives what missed a bound.
func measure(ctx context.Context, s settings, w io.Writer) (misses []string, err error) {
	r, err := startRig(ctx)
	if err != nil {
		return nil, err
	}
	defer r.close()
	fmt.Fprintf(w, "Redis %s, append-only file, fsync every second\n\n", r.version)
	if err := r.rates(ctx, s.depths, w); err != nil {
		return nil, err
	}
	if err := r.fill(ctx, s, w); err != nil {
		return nil, err
	}
	looks, err := r.looks(ctx, s, w)
	if err != nil {
		return nil, err
	}
	bulk, err := r.bulk(ctx, s, w)
	return append(looks, bulk...), err
}
