package waybilltest_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/waybilltest"
)

// TestServer_hold is no test of its own: the next one runs it in a process that it kills.
func TestServer_hold(t *testing.T) {
	if os.Getenv("WAYBILL_TEST_HOLD") == "" {
		t.Skip("run by TestServer_EndsWithTheProcess only")
	}
	rdb, ok := waybilltest.New(t).Redis.(*redis.Client)
	if !ok {
		t.Fatal("not a client of one server")
	}
	_, _ = io.WriteString(os.Stdout, "socket "+rdb.Options().Addr+"\n")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent kills
}

func TestServer_EndsWithTheProcess(t *testing.T) {
	t.Parallel()
	redistest.Binary(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestServer_hold$")
	cmd.Env = append(os.Environ(), "WAYBILL_TEST_HOLD=1", "WAYBILL_TEST_REDIS=")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	socket := ""
	for lines := bufio.NewScanner(stdout); socket == "" && lines.Scan(); {
		socket, _ = strings.CutPrefix(lines.Text(), "socket ")
	}
	if _, err := os.Stat(socket); err != nil {
		t.Fatalf("no server: %v", err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(filepath.Dir(socket)); errors.Is(err, fs.ErrNotExist) {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the server's directory is left")
		}
	}
}

func TestNew_Environment(t *testing.T) {
	srv := redistest.Start(t)
	t.Run("the Redis that it names is used, and left as it was", func(t *testing.T) {
		t.Setenv("WAYBILL_TEST_REDIS", srv.URL())
		rdb := srv.Client()
		r := &recorder{}
		said := r.run(func(t testing.TB) {
			enqueue(t, waybilltest.New(t), welcome, 1)
			if n := rdb.DBSize(t.Context()).Val(); n == 0 {
				t.Errorf("no key there")
			}
		})
		if said != "" {
			t.Error(said)
		}
		if n := rdb.DBSize(t.Context()).Val(); n != 0 {
			t.Errorf("%d keys are left", n)
		}
	})
	t.Run("a bad URL fails the test, and is not shown", func(t *testing.T) {
		t.Setenv("WAYBILL_TEST_REDIS", "redis//:secret@host")
		said := (&recorder{}).run(func(t testing.TB) { waybilltest.New(t) })
		if !strings.Contains(said, "WAYBILL_TEST_REDIS is no URL") || strings.Contains(said, "secret") {
			t.Errorf("it failed with %q", said)
		}
	})
}
