package outboxtest_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
)

// binary is the path of the built worker.
var binary string

func TestMain(m *testing.M) { redistest.Main(sqltest.Ending(built{m})) }

// built builds the worker before the tests run.
type built struct{ m *testing.M }

func (b built) Run() int {
	dir, err := os.MkdirTemp("", "waybill-outbox-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "worker")
	out, err := exec.CommandContext(context.Background(), "go", "build", "-ldflags=-s -w", "-o", binary, "./worker").CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil { // they wait more than they compute
		panic(err)
	}
	logging.Disable() // connections are cut here; what comes of it is returned too
	return b.m.Run()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
