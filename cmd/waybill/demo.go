package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/cmd/waybill/internal/demo"
)

// demoLimit: the demo takes no longer, whatever happens.
const demoLimit = time.Minute

type demoFlags struct {
	seed           uint64
	keep, inMemory bool
}

func (a *app) demoCommand() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use: "demo", Short: "Show the queue at work: five kinds of jobs, a topic, workers that are killed", Args: between(0, 0),
		Long: `Demo starts a Redis of its own (see waybill dev), mail servers, a payment gateway and receivers of
webhooks, and enqueues some hundred jobs: mails, payments, thumbnails, tables to score, webhooks. It
publishes some dozens of orders to a topic with three subscriptions: mail, billing, analytics. Two
worker processes do all that. Three times one is killed with SIGKILL, when the effect of a job or
of an event is done and the worker has not heard so. At the end there is an account that adds up.

It takes about ten seconds and leaves nothing behind, unless --keep is given. The exit status is 1
where a job or an event is lost or the account is wrong. With --json the account is printed as one object.`,
		RunE: func(*cobra.Command, []string) error { return a.demo(f) },
	}
	v := cmd.Flags()
	v.Uint64Var(&f.seed, "seed", 0, "draw the batch and its troubles from this `NUMBER` (default: another each time)")
	v.BoolVar(&f.keep, "keep", false, "leave Redis running, with all jobs, and say how to look at it and to stop it")
	v.BoolVar(&f.inMemory, "in-memory", false, "use the stand-in for Redis, also where a server is installed")
	quietDefaults(cmd, "seed")
	return cmd
}

func (a *app) demo(f demoFlags) error {
	signalled, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A write to a pipe that nobody reads is to be an error, after which all is cleaned up, and not our end.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	ctx, cancel := context.WithTimeoutCause(signalled, demoLimit, errors.New("it takes too long"))
	defer cancel()
	o, err := a.demoOptions(f)
	if err != nil {
		return err
	}
	account, err := demo.Run(ctx, o)
	if err != nil && signalled.Err() != nil {
		return fmt.Errorf("%w: %w", errInterrupted, err)
	}
	return a.tellAccount(account, err)
}

// tellAccount prints the account where JSON is wanted, also one that is wrong. People were told it already.
func (a *app) tellAccount(account any, err error) error {
	if !a.json || err != nil && !errors.Is(err, demo.ErrWrong) {
		return err
	}
	if err := errors.Join(err, printJSON(a.stdout, account)); err != nil {
		return answered{err}
	}
	return nil
}

func (a *app) demoOptions(f demoFlags) (demo.Options, error) {
	binary, err := os.Executable()
	if err != nil {
		return demo.Options{}, fmt.Errorf("find this program, to start it as a worker: %w", err)
	}
	o := demo.Options{
		Binary: binary, Called: os.Args[0], Out: a.stdout, Seed: f.seed, InMemory: f.inMemory, Keep: f.keep,
		Live: isTerminal(a.stdout) && a.getenv("TERM") != "dumb", Width: func() int { return columns(a.stdout) },
		Bold: func(s string) string { return a.paint(a.stdout, bold, s) },
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64N(1e6) + 1
	}
	if a.json {
		o.Out, o.Live = nil, false
	}
	return o, nil
}

// demoWorkerCommand is the program of the demo's workers.
func (a *app) demoWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "demo-worker NAME MAIL GATEWAY MODEL LEDGER CONFIRM ACCOUNTS", Hidden: true, Args: between(7, 7),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := interruptible(cmd)
			defer stop()
			return demo.Work(ctx, demo.WorkerOptions{
				Name: args[0], Mail: args[1], Gateway: args[2], Model: args[3], Ledger: args[4], Confirm: args[5], Accounts: args[6],
				Redis: a.redisURL,
			})
		},
	}
}
