package redistest

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/devredis"
)

const missing = `

    ****************************************************************
    *  NO REDIS: this test did not run.                            *
    *  It needs redis-server 6.2.7 or newer, or valkey-server, on  *
    *  the PATH. On Debian and Ubuntu scripts/install-redis.sh     *
    *  installs it.                                                *
    ****************************************************************
`

// Binary returns the path of redis-server or valkey-server. Where there is none
// it skips the test, or fails it when the environment variable CI is set.
func Binary(t testing.TB) string {
	t.Helper()
	binary, ok := devredis.Find()
	if !ok && os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	if !ok {
		t.Skip(missing)
	}
	return binary
}

// launch starts a server and waits until it answers. command is the program, and
// what stands before its arguments. args come last and so win over the defaults
// here.
func launch(ctx context.Context, command []string, dir, network, addr string, args []string) (*devredis.Process, error) {
	all := []string{"--daemonize", "no", "--save", "", "--appendonly", "no"}
	if network == "unix" {
		all = append(all, "--port", "0", "--unixsocket", addr, "--unixsocketperm", "700")
	} else {
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		all = append(all, "--bind", host, "--port", port)
	}
	p, err := devredis.Command{Binary: command[0], Args: slices.Concat(command[1:], all, args), Dir: dir}.Start()
	if err != nil {
		return nil, err
	}
	if _, err := p.WaitReady(ctx, network, addr); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// launchFree is launch on a free port, on another one when the port was taken
// before the server could use it.
func launchFree(ctx context.Context, command []string, dir string, args []string) (p *devredis.Process, addr string, err error) {
	for range 5 {
		port, portErr := devredis.FreePort(ctx)
		if portErr != nil {
			return nil, "", portErr
		}
		addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		p, err = launch(ctx, command, dir, "tcp", addr, args)
		if !errors.Is(err, devredis.ErrAddrInUse) {
			break
		}
	}
	return p, addr, err
}

func newClient(t testing.TB, network, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		Network: network, Addr: addr, MaxRetries: -1, DialerRetries: 1,
	})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("redistest: close client: %v", err)
		}
	})
	return c
}
