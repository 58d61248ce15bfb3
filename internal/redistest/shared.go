package redistest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/waybillhq/waybill/internal/devredis"
)

// shared is the server of this test binary. It belongs to no single test, so it
// has no directory (it writes nothing) and listens on a port.
var shared struct {
	once     sync.Once
	process  *devredis.Process
	addr     string
	err      error
	prefixes atomic.Int64
}

// Shared returns a new client of the one server that all tests of this test
// binary share, and a key prefix that no other test has. Tests keep to their
// prefix and never flush; they may run in parallel. The server dies with the
// test process; where the system cannot arrange that (it can on Linux), or where
// goroutines are checked for leaks, TestMain calls [Main].
func Shared(t testing.TB) (c *redis.Client, prefix string) {
	t.Helper()
	binary := Binary(t)
	shared.once.Do(func() {
		shared.process, shared.addr, shared.err = startShared(binary)
	})
	if shared.err != nil {
		t.Fatalf("redistest: start the shared server: %v", shared.err)
	}
	return newClient(t, "tcp", shared.addr), fmt.Sprintf("t%d", shared.prefixes.Add(1))
}

func startShared(binary string) (p *devredis.Process, addr string, err error) {
	// The server outlives the test that starts it.
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return launchFree(ctx, []string{binary}, os.TempDir(), nil)
}

// Main runs the tests, ends the shared server and exits. If the tests passed, it
// first fails on goroutines that are still running. Use it as
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
//
// m is a [testing.M], or what wraps one.
func Main(m interface{ Run() int }) {
	code := m.Run()
	if shared.process != nil {
		shared.process.Kill()
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintf(os.Stderr, "redistest: goroutines outlive the tests: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}
