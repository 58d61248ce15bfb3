package devredis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// poll is how often a starting server is asked whether it answers.
const poll = 2 * time.Millisecond

// errNotReady says that the server does not answer yet.
var errNotReady = errors.New("not ready")

// WaitReady waits until the child, a Redis or Valkey server, answers commands
// at the address ("tcp" or "unix"), and returns its name and version, as
// "redis 7.0.15". It fails with [ErrAddrInUse] when another process has the
// address (also when that is a Redis server), with [ErrExited] when the child
// ends, and with the context's error.
func (p *Process) WaitReady(ctx context.Context, network, addr string) (version string, err error) {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		version, err := p.ask(ctx, network, addr)
		if !errors.Is(err, errNotReady) {
			return version, err
		}
		select {
		case <-p.done:
			return "", p.earlyExit(addr)
		case <-ctx.Done():
			return "", fmt.Errorf("wait for %s on %s: %w", p.cmd.Path, addr, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// earlyExit tells why a child that has ended did so.
func (p *Process) earlyExit(addr string) error {
	if strings.Contains(p.Output(), "Address already in use") {
		return fmt.Errorf("listen on %s: %w", addr, ErrAddrInUse)
	}
	if err := p.exitError(); err != nil {
		return err
	}
	return fmt.Errorf("%w: status 0; its last output:\n%s", ErrExited, p.Output())
}

// ask sends PING and INFO once, without a client library: a connection that
// fails is what this function expects.
func (p *Process) ask(ctx context.Context, network, addr string) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return "", errNotReady
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return "", errNotReady
	}
	if _, err := io.WriteString(conn, "PING\r\nINFO server\r\n"); err != nil {
		return "", errNotReady
	}
	info, err := readInfo(bufio.NewReader(conn))
	if err != nil {
		return "", errNotReady
	}
	if info["process_id"] != strconv.Itoa(p.PID()) {
		return "", fmt.Errorf("listen on %s: %w", addr, ErrAddrInUse)
	}
	return versionOf(info), nil
}

// readInfo reads the replies to PING and INFO and returns the fields of INFO.
func readInfo(r *bufio.Reader) (map[string]string, error) {
	pong, err := r.ReadString('\n')
	if err != nil || !strings.HasPrefix(pong, "+PONG") { // or -LOADING
		return nil, errNotReady
	}
	head, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(head, "$")))
	if err != nil {
		return nil, err
	}
	info := map[string]string{}
	for lines := bufio.NewScanner(io.LimitReader(r, int64(n))); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok {
			info[name] = value
		}
	}
	return info, nil
}

// versionOf prefers Valkey's own version to the Redis version it claims for old
// clients.
func versionOf(info map[string]string) string {
	if v := info["valkey_version"]; v != "" {
		return "valkey " + v
	}
	return "redis " + info["redis_version"]
}
