// Command outbox measures the outbox: how fast a relay is, what it costs the application beside it, and how soon after the
// commit a job starts.
//
//	go run ./bench/outbox [-databases postgresql,mariadb,sqlite] [-rows 100000] [-time 5s] [-rounds 3] [-clients 4] [-notify] [-only relay,beside,latency]
//
// Databases commit durably, on private servers (unix sockets) and a SQLite file as internal/database opens it; Redis is a
// private one with an append-only file. Everything shares one machine. Figures of "beside" are medians of rounds that take
// turns; on a shared machine only their ratios say much.
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
	"time"

	"github.com/waybillhq/waybill/internal/dialect"
)

// settings are the flags.
type settings struct {
	databases []dialect.Dialect
	rows      int
	each      time.Duration
	rounds    int
	clients   int
	notify    bool
	only      []string
}

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var s settings
	databases := flag.String("databases", "postgresql,mariadb,sqlite", "which")
	only := flag.String("only", "relay,beside,latency", "which measurements")
	flag.IntVar(&s.rows, "rows", 100_000, "rows that a relay finds")
	flag.DurationVar(&s.each, "time", 5*time.Second, "time of one measurement beside a relay, and of one of latency")
	flag.IntVar(&s.rounds, "rounds", 3, "measurements of each beside a relay")
	flag.IntVar(&s.clients, "clients", 4, "of the application")
	flag.BoolVar(&s.notify, "notify", false, "every commit rings (PostgreSQL only)")
	flag.Parse()
	for name := range strings.SplitSeq(*databases, ",") {
		s.databases = append(s.databases, dialect.Dialect(name))
	}
	s.only = strings.Split(*only, ",")
	if err := measure(ctx, s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "outbox:", err)
		return 1
	}
	return 0
}

// measure does all of it and prints the lines.
func measure(ctx context.Context, s settings, w io.Writer) error {
	for _, d := range s.databases {
		if err := measureOne(ctx, s, d, w); err != nil {
			return fmt.Errorf("%s: %w", d, err)
		}
	}
	return nil
}

func measureOne(ctx context.Context, s settings, d dialect.Dialect, w io.Writer) error {
	r, err := newRig(ctx, d, s.notify)
	if err != nil {
		return err
	}
	defer r.close()
	for _, p := range []struct {
		name string
		do   func(context.Context, settings, *rig, io.Writer) error
	}{{"relay", relayRate}, {"beside", beside}, {"latency", latency}} {
		if !slices.Contains(s.only, p.name) {
			continue
		}
		if err := p.do(ctx, s, r, w); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}
