package waybilltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/devredis"
)

// startTime bounds the start of a server. It takes about 30 ms; machines that run tests may be slow.
const startTime = 20 * time.Second

// connect gives a client of the Redis that the environment names, of the private server, or of one in memory.
func connect(t testing.TB, inMemory bool) *redis.Client {
	t.Helper()
	o, what, err := choose(t, inMemory)
	if err != nil {
		t.Fatalf("waybilltest: %v", err)
	}
	t.Logf("waybilltest: %s", what)
	rdb := redis.NewClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func choose(t testing.TB, inMemory bool) (o *redis.Options, what string, err error) {
	t.Helper()
	if url := os.Getenv("WAYBILL_TEST_REDIS"); url != "" && !inMemory {
		if o, err = redis.ParseURL(url); err != nil {
			return nil, "", errors.New("WAYBILL_TEST_REDIS is no URL of a Redis") // it may hold a password
		}
		return o, "on the Redis that WAYBILL_TEST_REDIS names", nil
	}
	if binary, ok := devredis.Find(); ok && !inMemory {
		socket, err := private.socket(binary)
		return &redis.Options{Network: "unix", Addr: socket}, "on a private " + filepath.Base(binary), err
	}
	s, err := devredis.Start(t.Context(), devredis.Options{InMemory: true})
	if err != nil {
		return nil, "", err
	}
	t.Cleanup(func() { _ = s.Close() })
	o, err = redis.ParseURL(s.URL())
	return o, "on a stand-in in memory, not a Redis", err
}

// private is the server of this process: tests have nothing else in common that could hold it.
var private server

// server is a child that ends when this process does.
type server struct {
	once sync.Once
	addr string
	err  error
	hold *os.File // the other end of what the keeper reads
}

// keeper starts the server, and ends it with all its files when standard input ends. That is when the process ends
// that holds the other end, be it killed: so nobody has to end the server, and no goroutine waits for it.
const keeper = `trap '' INT TERM HUP
"$0" --port 0 --unixsocket s --unixsocketperm 700 --daemonize no --save '' --appendonly no </dev/null >log 2>&1 &
read -r _
kill -9 $!
rm -rf "$PWD"`

// socket gives the path of the server's socket; the first call starts it.
func (s *server) socket(binary string) (string, error) {
	s.once.Do(func() { s.err = s.start(binary) })
	return s.addr, s.err
}

func (s *server) start(binary string) error {
	dir, err := os.MkdirTemp("", "wb") // short: a socket's path ends at 108 bytes
	if err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", "-c", keeper, binary)
	cmd.Dir, cmd.Stdin = dir, read
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", binary, err), write.Close(), os.RemoveAll(dir))
	}
	s.hold, s.addr = write, filepath.Join(dir, "s")
	if err := answers(ctx, s.addr); err != nil {
		said, _ := os.ReadFile(filepath.Join(dir, "log"))
		return errors.Join(fmt.Errorf("start %s: %w; it says:\n%s", binary, err, said), write.Close())
	}
	return nil
}

var errNotReady = errors.New("not ready")

// answers waits until a server answers. It asks without a client library, which would log what is expected here.
func answers(ctx context.Context, socket string) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ping(ctx, socket)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

func ping(ctx context.Context, socket string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return err
	}
	answer := make([]byte, len("+PONG"))
	if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != "+PONG" {
		return fmt.Errorf("it answered %q: %w", answer, errors.Join(errNotReady, err))
	}
	return nil
}
