package devredis

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// grace is how long a server may take to end: it has an append-only file to
// sync, on a disk that may be slow.
const grace = 10 * time.Second

// startChild starts the real server, on another port when a free port that it
// chose was taken before the server could use it.
func startChild(ctx context.Context, binary string, o Options, addr netip.AddrPort) (*Server, error) {
	if addr.Port() != 0 {
		return startChildAt(ctx, binary, o, addr)
	}
	var err error
	for range 3 {
		port, portErr := FreePort(ctx)
		if portErr != nil {
			return nil, portErr
		}
		var s *Server
		s, err = startChildAt(ctx, binary, o, netip.AddrPortFrom(addr.Addr(), uint16(port)))
		if !errors.Is(err, ErrAddrInUse) {
			return s, err
		}
	}
	return nil, err
}

func startChildAt(ctx context.Context, binary string, o Options, addr netip.AddrPort) (*Server, error) {
	dir, remove, err := dataDir(o.Dir)
	if err != nil {
		return nil, err
	}
	p, version, err := launch(ctx, binary, dir, addr)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	return &Server{
		url:     "redis://" + addr.String(),
		version: version,
		durable: o.Dir != "",
		done:    p.Done(),
		stop: func() error {
			return errors.Join(p.Stop(grace), remove())
		},
	}, nil
}

// launch starts the child under the lock of its directory and waits until it
// answers.
func launch(ctx context.Context, binary, dir string, addr netip.AddrPort) (p *Process, version string, err error) {
	lock, err := lockFile(filepath.Join(dir, "waybill.lock"))
	if err != nil {
		return nil, "", fmt.Errorf("lock %s: %w", dir, err)
	}
	defer lock.Close()
	p, err = Command{Binary: binary, Args: serverArgs(addr), Dir: dir, Lock: lock}.Start()
	if err != nil {
		return nil, "", err
	}
	version, err = p.WaitReady(ctx, "tcp", addr.String())
	if err != nil {
		p.Kill()
		return nil, "", err
	}
	return p, version, nil
}

// serverArgs gives no --dir: the working directory is the data directory.
func serverArgs(addr netip.AddrPort) []string {
	return []string{
		"--bind", addr.Addr().String(),
		"--port", strconv.Itoa(int(addr.Port())),
		"--protected-mode", "yes",
		"--daemonize", "no",
		"--save", "",
		"--appendonly", "yes",
		"--appendfsync", "everysec",
		"--maxmemory-policy", "noeviction",
	}
}

// dataDir creates the data directory. remove undoes what it did for an empty
// name, a temporary directory, and nothing otherwise.
func dataDir(name string) (dir string, remove func() error, err error) {
	if name == "" {
		dir, err = os.MkdirTemp("", "waybill-redis-")
		return dir, func() error { return os.RemoveAll(dir) }, err
	}
	return name, func() error { return nil }, os.MkdirAll(name, 0o700)
}
