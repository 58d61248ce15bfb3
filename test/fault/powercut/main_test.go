package powercut_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

func TestMain(m *testing.M) {
	logging.Disable() // servers are ended under their clients here
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // half of the time they wait
		panic(err)
	}
	redistest.Main(m)
}

// extent is how much of the programme is played.
type extent struct {
	run    time.Duration // how long work is recorded
	images int           // of each recording
}

// extentOf reads WAYBILL_FAULTS: "check", which is the default, "full", or how long it may take.
func extentOf(t *testing.T) extent {
	t.Helper()
	switch word := os.Getenv("WAYBILL_FAULTS"); word {
	case "", "check":
		return extent{run: 3500 * time.Millisecond, images: 10}
	case "full":
		return extent{run: 4 * time.Second, images: 80}
	default:
		d, err := time.ParseDuration(word)
		if err != nil {
			t.Fatalf("WAYBILL_FAULTS is %q: check, full or a duration", word)
		}
		return extent{run: 10 * time.Second, images: max(80, int(d.Seconds()/3))} // an image takes about a second, and there are two runs
	}
}

// seeded is a source of chance by WAYBILL_SEED, else at random; either way the seed is printed.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if given := os.Getenv("WAYBILL_SEED"); given != "" {
		n, err := strconv.ParseUint(given, 10, 64)
		if err != nil {
			t.Fatalf("WAYBILL_SEED is %q: a number", given)
		}
		seed = n
	}
	t.Logf("WAYBILL_SEED=%d go test -race -run '^%s$' ./test/fault/powercut", seed, t.Name())
	return rand.New(rand.NewPCG(seed, 6))
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
