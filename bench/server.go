package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/devredis"
)

// startTimeout bounds the start of a server, which takes about 10 ms.
const startTimeout = 10 * time.Second

var errNoServer = errors.New("neither redis-server nor valkey-server is on the PATH")

// server is a private Redis in a folder of its own, with one connection.
type server struct {
	version string
	dir     string
	process *devredis.Process
	rdb     *redis.Client
}

// startServer starts a server. The caller closes it.
func startServer(ctx context.Context) (*server, error) {
	binary, ok := devredis.Find()
	if !ok {
		return nil, errNoServer
	}
	dir, err := os.MkdirTemp("", "wbbench")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	if err := s.launch(ctx, binary); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *server) launch(ctx context.Context, binary string) error {
	socket := filepath.Join(s.dir, "s")
	var err error
	s.process, err = devredis.Command{Binary: binary, Dir: s.dir, Args: []string{
		"--daemonize", "no", "--port", "0", "--unixsocket", socket, "--save", "",
		"--appendonly", "yes", "--appendfsync", "everysec",
		"--auto-aof-rewrite-percentage", "0", // a rewrite would fork in the middle of a figure
	}}.Start()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if s.version, err = s.process.WaitReady(ctx, "unix", socket); err != nil {
		return err
	}
	s.rdb = redis.NewClient(&redis.Options{
		Network: "unix", Addr: socket, PoolSize: 1, MaxRetries: -1, ReadTimeout: time.Minute,
	})
	return nil
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
