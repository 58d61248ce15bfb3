package main

import (
	"bufio"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/redistest"
)

func TestHello(t *testing.T) {
	srv := redistest.Start(t)
	for _, run := range []struct {
		outcome string
		lines   int
	}{{"accepted", 2}, {"duplicate", 1}} {
		t.Run("answers "+run.outcome, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			out, end := captured(t)
			ended := make(chan error, 1)
			rdb := srv.Client()
			go func() {
				defer end()
				ended <- hello(ctx, rdb)
			}()
			want := []string{"order-17/receipt " + run.outcome, "receipt for order 17"}
			for _, line := range want[:run.lines] {
				if !out.Scan() || out.Text() != line {
					t.Errorf("printed %q, want %q", out.Text(), line)
				}
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// captured puts a pipe in the place of standard output until the test ends. end ends what it reads.
func captured(t *testing.T) (out *bufio.Scanner, end func()) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = w
	t.Cleanup(func() {
		os.Stdout = stdout
		_ = r.Close()
	})
	return bufio.NewScanner(r), func() { _ = w.Close() }
}

func TestReadme(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(readme), "```go\n")
	shown, _, _ = strings.Cut(shown, "```")
	if _, program, _ := strings.Cut(string(source), "\n"); shown != program {
		t.Error("the program in README.md is not examples/hello/main.go: copy it from its second line on")
	}
}
