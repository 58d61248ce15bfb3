package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/devredis"
)

// server is the demo's Redis.
type server struct {
	url, about string
	rdb        *redis.Client // nil until it is made
	pid        int           // of the process to stop, where it can be kept
	stop       func() error
	leave      func() error // lets it go on without us; nil where that can't be
}

func startServer(ctx context.Context, o Options, dir string) (*server, error) {
	dir = filepath.Join(dir, "redis")
	if o.Keep {
		return startKept(ctx, o, dir)
	}
	s, err := devredis.Start(ctx, devredis.Options{Dir: dir, InMemory: o.InMemory})
	if err != nil {
		return nil, err
	}
	about := "A stand-in in memory, on " + s.URL() + "; no redis-server or valkey-server is installed."
	switch {
	case s.Durable():
		about = s.Version() + " on " + s.URL() + ", private, in a temporary directory."
	case o.InMemory:
		about = "A stand-in in memory, on " + s.URL() + "."
	}
	return &server{url: s.URL(), about: about, stop: s.Close}, nil
}

// close ends the server, or leaves it running.
func (s *server) close(keep bool) error {
	var err error
	if s.rdb != nil {
		err = s.rdb.Close()
	}
	if keep && s.leave != nil {
		return errors.Join(err, s.leave())
	}
	return errors.Join(err, s.stop())
}

// startKept starts a Redis that may outlive the demo: the command dev, detached.
func startKept(ctx context.Context, o Options, dir string) (*server, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	logged, err := os.OpenFile(filepath.Join(dir, "waybill-dev.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer logged.Close()
	args := []string{"dev", "--addr", "127.0.0.1:0", "--dir", dir}
	if o.InMemory {
		args = append(args, "--in-memory")
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), o.Binary, args...)
	cmd.Dir, cmd.Stderr, cmd.SysProcAttr = dir, logged, detached()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start Redis: %w", err)
	}
	s := &server{pid: cmd.Process.Pid, stop: func() error { return end(cmd) }, leave: cmd.Process.Release}
	if s.url, err = firstLine(ctx, out); err != nil {
		said, _ := os.ReadFile(logged.Name())
		return nil, errors.Join(fmt.Errorf("start Redis: %w: %s", err, strings.TrimSpace(string(said))), end(cmd))
	}
	s.about = fmt.Sprintf("%s (process %d), which is to stay.", s.url, s.pid)
	return s, nil
}

// firstLine reads the URL that dev prints when its server answers.
func firstLine(ctx context.Context, out io.ReadCloser) (string, error) {
	defer context.AfterFunc(ctx, func() { _ = out.Close() })()
	line, err := bufio.NewReader(out).ReadString('\n')
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return strings.TrimSpace(line), err
}

// grace is how long a process may take to end.
const grace = 15 * time.Second

// end ends a process: it asks, and after the grace kills.
func end(cmd *exec.Cmd) error {
	if cmd.Process.Signal(syscall.SIGTERM) != nil {
		_ = cmd.Process.Kill() // has ended, or a system without the signal
	}
	defer time.AfterFunc(grace, func() { _ = cmd.Process.Kill() }).Stop()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("stop Redis: %w", err)
	}
	return nil
}
