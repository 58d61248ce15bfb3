package devredis

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// tick is how often the in-memory server's keys age.
const tick = 100 * time.Millisecond

func startMemory(addr netip.AddrPort) (*Server, error) {
	m := miniredis.NewMiniRedis()
	if err := m.StartAddr(addr.String()); err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			err = ErrAddrInUse
		}
		return nil, fmt.Errorf("start in-memory server on %s: %w", addr, err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		age(m, stop)
		m.Close()
	}()
	return &Server{
		url:     "redis://" + m.Addr(),
		version: "miniredis",
		done:    done,
		stop: func() error {
			close(stop)
			<-done
			return nil
		},
	}, nil
}

// age makes TTLs pass until stop is closed. miniredis could follow the clock at
// each access instead (ClockTTL), but visits every key each time: 3 ms a
// command with 10,000 keys. Here a visit is followed by twenty times its
// duration of rest.
func age(m *miniredis.Miniredis, stop <-chan struct{}) {
	// Round strips the monotonic clock: a real server follows the wall clock,
	// also through a laptop's sleep.
	last := time.Now().Round(0)
	timer := time.NewTimer(tick)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		begun := time.Now()
		now := begun.Round(0)
		if passed := now.Sub(last); passed > 0 {
			m.FastForward(passed)
		}
		last = now
		timer.Reset(max(tick, 20*time.Since(begun)))
	}
}
