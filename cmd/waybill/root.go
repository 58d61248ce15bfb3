package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
)

// world is what a run of the program is given.
type world struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            []string // NAME=VALUE
}

// app is one run of the program.
type app struct {
	world
	redisURL, redisFile, prefix string
	json                        bool
	argv                        []string // behind --exec or --pipe
}

// run is the whole program. It returns the exit status.
func run(args []string, w world) int {
	w.stderr = &shared{w: w.stderr}
	a := &app{world: w}
	root := a.root()
	return a.end(a.execute(root, args))
}

// execute runs the command that the arguments name. An error that is not of our making comes from
// the flag library, and is one of usage.
func (a *app) execute(root *cobra.Command, args []string) error {
	cmd, _, err := root.Find(args)
	if err != nil {
		return usage(root, "%v", err)
	}
	if cmd.Flags().Lookup("exec") != nil {
		args, a.argv = splitExec(args)
	}
	root.SetArgs(args)
	return root.ExecuteContext(context.Background())
}

// splitExec cuts the arguments behind the switch --exec or --pipe: it ends our flags, and what follows is the
// command, with or without "--" before it.
func splitExec(args []string) (ours, command []string) {
	at := slices.IndexFunc(args, func(arg string) bool { return arg == "--exec" || arg == "--pipe" })
	if end := slices.Index(args, "--"); at < 0 || end >= 0 && end < at {
		return args, nil
	}
	command = args[at+1:]
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	return args[:at+1], command
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "waybill",
		Short: "A job queue on Redis",
		Long: `Waybill is a job queue on Redis: a job leaves it only when the attempt that holds
it hands in proof.

Redis is named by --redis, by --redis-file or by WAYBILL_REDIS:
  redis://[USER:PASSWORD@]HOST[:PORT][/DB]   rediss://… with TLS   unix://PATH[?db=N]
  redis+sentinel://[USER:PASSWORD@]HOST[:PORT],…/MASTER[/DB]   redis+cluster://[USER:PASSWORD@]HOST[:PORT],…
The last two with TLS begin with rediss. User and password are the Redis server's; those of
the Sentinels go behind ?, as sentinel_username=…&sentinel_password=….
A password is better kept in WAYBILL_REDIS or in a file: other users can read the
arguments of a running program.

Exit status:
` + statusText,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          onlyBelow,
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	f := root.PersistentFlags()
	f.StringVar(&a.redisURL, "redis", "", "`URL` of Redis (default $WAYBILL_REDIS, else "+defaultURL+")")
	f.StringVar(&a.redisFile, "redis-file", "", "`PATH` of a file that holds the URL of Redis")
	f.StringVar(&a.prefix, "prefix", "", "what stands before every Redis key (default \"wb\")")
	f.BoolVar(&a.json, "json", false, "print JSON, one object a line")
	root.AddCommand(
		a.enqueueCommand(), a.workCommand(), a.jobCommand(), a.queueCommand(), a.workerCommand(), a.auditCommand(),
		a.topicCommand(), a.receiptsCommand(), a.outboxCommand(), a.migrateCommand(), a.verifyCommand(),
		a.devCommand(), a.demoCommand(), a.demoWorkerCommand(), a.versionCommand(), a.completionCommand(),
	)
	return root
}

// parent is a command that only has commands below it.
func parent(use, short string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: onlyBelow,
	}
	cmd.AddCommand(below...)
	return cmd
}

// onlyBelow is what a command does that only has commands below it: it shows them.
func onlyBelow(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return usage(cmd, "unknown command %q for %q%s", args[0], cmd.CommandPath(), nearCommand(cmd, args[0]))
}

// between checks the number of arguments.
func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage(cmd, "an argument is missing: %s", cmd.UseLine())
		case len(args) > most:
			return usage(cmd, "%q is one argument too many: %s", args[most], cmd.UseLine())
		}
		return nil
	}
}

// say prints a line for people on stderr.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.stderr, "waybill: "+format+"\n", args...)
}
