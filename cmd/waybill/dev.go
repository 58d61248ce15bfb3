package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/devredis"
)

// devAddr is where all other commands look for Redis if nothing else is said.
const devAddr = "127.0.0.1:6379"

func (a *app) devCommand() *cobra.Command {
	var o devredis.Options
	cmd := &cobra.Command{
		Use: "dev", Short: "Run a Redis for development", Args: between(0, 0),
		Long: `Dev runs a Redis for development on this machine, until INT or TERM, and prints its URL.

Where redis-server or valkey-server is on the PATH it is a private child of that, with an
append-only file in a data directory: jobs stay there from one run to the next. Else, or with
--in-memory, it is a stand-in inside this program: jobs vanish when it ends, it is slower (about
half a millisecond a call), and has no memory limit, replication or persistence.

It listens on 127.0.0.1 only and knows no password: it is not for production.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.dev(cmd, o) },
	}
	v := cmd.Flags()
	v.StringVar(&o.Addr, "addr", "", "`HOST:PORT` of this machine to listen on; port 0 = a free one (default "+devAddr+", or a free port)")
	v.StringVar(&o.Dir, "dir", "", "data `DIR` (default "+filepath.Join("$XDG_DATA_HOME", "waybill", "dev")+")")
	v.BoolVar(&o.InMemory, "in-memory", false, "the stand-in, also where a server is installed")
	return cmd
}

func (a *app) dev(cmd *cobra.Command, o devredis.Options) error {
	ctx, stop := interruptible(cmd)
	defer stop()
	if o.Dir == "" && !o.InMemory {
		dir, err := a.dataDir()
		if err != nil {
			return err
		}
		o.Dir = dir
	}
	s, err := startDev(ctx, o)
	if err != nil {
		return devError(err)
	}
	a.introduce(s, o)
	select {
	case <-ctx.Done():
		return s.Close()
	case <-s.Done():
		return errors.Join(errors.New("the server ended"), s.Close())
	}
}

// startDev starts the server at the given address, else at the usual one, else at a free port.
func startDev(ctx context.Context, o devredis.Options) (*devredis.Server, error) {
	if o.Addr != "" {
		return devredis.Start(ctx, o)
	}
	o.Addr = devAddr
	s, err := devredis.Start(ctx, o)
	if errors.Is(err, devredis.ErrAddrInUse) {
		o.Addr = ""
		return devredis.Start(ctx, o)
	}
	return s, err
}

// introduce prints the URL on stdout, and the rest for people.
func (a *app) introduce(s *devredis.Server, o devredis.Options) {
	fmt.Fprintln(a.stdout, s.URL())
	if s.Durable() {
		a.say("%s keeps its data in %s", s.Version(), o.Dir)
	} else {
		a.say("%s", a.paint(a.stderr, yellow, "IN MEMORY ONLY: all jobs vanish when this ends."+
			" It is a stand-in, slower than Redis, without memory limit, replication or persistence."))
		if !o.InMemory {
			a.say("neither redis-server nor valkey-server is on the PATH; with one of them jobs would stay")
		}
	}
	if s.URL() != "redis://"+devAddr {
		a.say("for the other commands: export %s=%s", envURL, s.URL())
	}
	a.say("it runs until interrupted (Ctrl-C)")
}

// dataDir is the default data directory, one for each user.
func (a *app) dataDir() (string, error) {
	base := a.getenv("XDG_DATA_HOME")
	if base == "" {
		home := a.getenv("HOME")
		if home == "" {
			var err error
			if home, err = os.UserHomeDir(); err != nil {
				return "", &usageError{"no home directory: give --dir"}
			}
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "waybill", "dev"), nil
}

// devError says what to do about a server that does not start.
func devError(err error) error {
	switch {
	case errors.Is(err, devredis.ErrAddrInUse):
		return fmt.Errorf("%w: give another --addr, or --addr 127.0.0.1:0 for a free port", err)
	case errors.Is(err, devredis.ErrDirInUse):
		return fmt.Errorf("%w: use the server that runs, or give another --dir", err)
	case errors.Is(err, devredis.ErrNotLoopback):
		return &usageError{err.Error() + ": it has no password, so only this machine may reach it"}
	}
	return err
}
