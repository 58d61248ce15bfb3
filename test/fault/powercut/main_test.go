package powercut_test

import (
	"flag"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/test/fault/extent"
)

func TestMain(m *testing.M) {
	logging.Disable() // servers are ended under their clients here
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // half of the time they wait
		panic(err)
	}
	redistest.Main(m)
}

// amount is how much is played.
type amount struct {
	run    time.Duration // how long work is recorded
	images int           // of each recording
}

// amountOf is it for the size of a run.
func amountOf(t *testing.T) amount {
	t.Helper()
	switch s := extent.Of(t); {
	case s.Soak > 0:
		return amount{run: 10 * time.Second, images: max(80, int(s.Soak.Seconds()/3))} // an image takes about a second, and there are two runs
	case s.Full:
		return amount{run: 4 * time.Second, images: 80}
	}
	return amount{run: 3500 * time.Millisecond, images: 10}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// clientOf is a client of a server, and ends with the test.
func clientOf(t *testing.T, s *redistest.Server) *waybill.Client {
	t.Helper()
	c, err := waybill.NewClient(s.Client(), waybill.ClientOptions{})
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
