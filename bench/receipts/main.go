// Command receipts measures what a receipt costs: transactions a second of one effect, the update of one row of 1,000, with
// a receipt and without.
//
//	go run ./bench/receipts [-time 2s] [-rounds 3] [-databases sqlite,postgresql,mariadb] [-clients 1,8]
//
// Both commit durably, on private servers (unix sockets) and a SQLite file as internal/database opens it. They take turns
// on the same database, round by round; the figures are medians. On a shared machine only the ratios say much.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/waybillhq/waybill/internal/dialect"
)

// least is the ratio that is asked for.
const least = 0.7

// settings are the flags.
type settings struct {
	each      time.Duration
	rounds    int
	databases []dialect.Dialect
	clients   []int
}

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var s settings
	flag.DurationVar(&s.each, "time", 2*time.Second, "time of one measurement")
	flag.IntVar(&s.rounds, "rounds", 3, "measurements of each")
	databases := flag.String("databases", "sqlite,postgresql,mariadb", "which")
	clients := flag.String("clients", "1,8", "how many at once")
	flag.Parse()
	for name := range strings.SplitSeq(*databases, ",") {
		s.databases = append(s.databases, dialect.Dialect(name))
	}
	for text := range strings.SplitSeq(*clients, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fmt.Fprintln(os.Stderr, "receipts: -clients: numbers from 1, as 1,8")
			return 2
		}
		s.clients = append(s.clients, n)
	}
	if err := measure(ctx, s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "receipts:", err)
		return 1
	}
	return 0
}

// measure does all of it and prints the table.
func measure(ctx context.Context, s settings, w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "database\tclients\tplain /s\treceipt /s\tratio\tratios\t")
	for _, d := range s.databases {
		if err := measureOne(ctx, s, d, t); err != nil {
			return fmt.Errorf("%s: %w", d, err)
		}
	}
	fmt.Fprintf(t, "asked: %.1f\t\t\t\t\t\t\n", least)
	return t.Flush()
}

func measureOne(ctx context.Context, s settings, d dialect.Dialect, w io.Writer) error {
	r, err := newRig(ctx, d)
	if err != nil {
		return err
	}
	defer r.close()
	for _, clients := range s.clients {
		var plain, receipts, ratios []float64
		for range s.rounds {
			a, err := r.rate(ctx, s.each, clients, r.plain)
			if err != nil {
				return err
			}
			b, err := r.rate(ctx, s.each, clients, r.withReceipt)
			if err != nil {
				return err
			}
			plain, receipts, ratios = append(plain, a), append(receipts, b), append(ratios, b/a)
		}
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%.0f\t%.2f\t%s\t\n", d, clients, median(plain), median(receipts), median(ratios), list(ratios))
	}
	return nil
}
