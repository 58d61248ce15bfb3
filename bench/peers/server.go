package main

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/devredis"
)

// startTimeout bounds the start of a server, which takes about 10 ms.
const startTimeout = 10 * time.Second

var errNoServer = errors.New("neither redis-server nor valkey-server is on the PATH")

// server is a private Redis in a folder of its own.
type server struct {
	version string
	addr    string
	dir     string
	process *devredis.Process
	rdb     *redis.Client // for the measurement's own questions
	sent    *counter      // what the clients made by connect sent
}

// startServer starts an empty server. The caller closes it.
func startServer(ctx context.Context) (*server, error) {
	binary, ok := devredis.Find()
	if !ok {
		return nil, errNoServer
	}
	dir, err := os.MkdirTemp("", "wbpeers")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, sent: newCounter()}
	if err := s.launch(ctx, binary); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *server) launch(ctx context.Context, binary string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	port, err := devredis.FreePort(ctx)
	if err != nil {
		return err
	}
	s.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	s.process, err = devredis.Command{Binary: binary, Dir: s.dir, Args: []string{
		"--daemonize", "no", "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--save", "",
		"--appendonly", "yes", "--appendfsync", "everysec",
		"--auto-aof-rewrite-percentage", "0", // a rewrite would fork in the middle of a figure
	}}.Start()
	if err != nil {
		return err
	}
	if s.version, err = s.process.WaitReady(ctx, "tcp", s.addr); err != nil {
		return err
	}
	s.rdb = redis.NewClient(&redis.Options{Addr: s.addr, PoolSize: 1})
	return nil
}

// connect makes a client whose commands are counted.
func (s *server) connect(pool int) *redis.Client {
	rdb := redis.NewClient(&redis.Options{Addr: s.addr, PoolSize: pool})
	rdb.AddHook(s.sent)
	return rdb
}

// close ends the server and removes what it wrote.
func (s *server) close() {
	if s.rdb != nil {
		_ = s.rdb.Close() // the server ends next
	}
	if s.process != nil {
		s.process.Kill()
	}
	_ = os.RemoveAll(s.dir) // a temporary folder
}
