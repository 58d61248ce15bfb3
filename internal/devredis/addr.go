package devredis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
)

// loopback parses host:port and refuses hosts that others could reach.
func loopback(addr string) (netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("parse address: %w", err)
	}
	if host == "localhost" || host == "" {
		host = "127.0.0.1"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("parse port of %q: %w", addr, err)
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.IsLoopback() {
		return netip.AddrPort{}, fmt.Errorf("listen on %q: %w", addr, ErrNotLoopback)
	}
	return netip.AddrPortFrom(ip, uint16(n)), nil
}

// FreePort returns a port of 127.0.0.1 that nothing listens on. Nothing reserves
// it: whoever uses it must be ready to find it taken. Ports are drawn from
// below the range that systems use for outgoing connections (32768 and up on
// Linux), so a server that restarts finds its port again.
func FreePort(ctx context.Context) (int, error) {
	const lowest, ports, attempts = 20000, 12000, 100
	var lc net.ListenConfig
	var errs error
	for range attempts {
		port := lowest + rand.IntN(ports)
		l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, l.Close()
		}
		errs = errors.Join(errs, err)
	}
	return 0, fmt.Errorf("find a free port: %w", errs)
}
