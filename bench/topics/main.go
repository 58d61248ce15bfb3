// Command topics measures fan-out: how fast events are published and worked off, beside a plain queue, what a publish costs by
// the number of subscriptions, and what a million events of lag cost.
//
//	go run ./bench/topics [-events 200000] [-payload 100] [-rounds 3] [-lag 1000000] [-only rates,bells,lag]
//
// Redis is a private one with an append-only file (everysec). Everything shares one machine. Rounds of topic and queue take
// turns; the figures are medians, and on a shared machine only their ratios say much.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
)

// settings are the flags.
type settings struct {
	events, payload, rounds, lag int
	only                         []string
}

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var s settings
	only := flag.String("only", "rates,bells,lag", "which measurements")
	flag.IntVar(&s.events, "events", 200_000, "of one round")
	flag.IntVar(&s.payload, "payload", 100, "bytes of one")
	flag.IntVar(&s.rounds, "rounds", 3, "of each rate")
	flag.IntVar(&s.lag, "lag", 1_000_000, "events that nobody takes")
	flag.Parse()
	s.only = strings.Split(*only, ",")
	if err := measure(ctx, s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "topics:", err)
		return 1
	}
	return 0
}

// measure does all of it and prints the lines.
func measure(ctx context.Context, s settings, w io.Writer) error {
	for _, p := range []struct {
		name string
		do   func(context.Context, settings, *rig, io.Writer) error
	}{{"rates", rates}, {"bells", bells}, {"lag", lag}} {
		if !slices.Contains(s.only, p.name) {
			continue
		}
		if err := onRig(ctx, s, w, p.do); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func onRig(ctx context.Context, s settings, w io.Writer, do func(context.Context, settings, *rig, io.Writer) error) error {
	r, err := newRig(ctx, s.payload)
	if err != nil {
		return err
	}
	defer r.close()
	return do(ctx, s, r, w)
}
