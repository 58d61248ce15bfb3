package main

import (
	"bufio"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/waybillhq/waybill/internal/redistest"
)

func TestHello(t *testing.T) {
	usual := addr
	addr = redistest.Start(t, redistest.TCP()).Addr()
	t.Cleanup(func() { addr = usual })
	for _, run := range []struct {
		outcome string
		lines   int
		signal  syscall.Signal
	}{{"accepted", 2, syscall.SIGTERM}, {"duplicate", 1, syscall.SIGINT}} {
		t.Run("answers "+run.outcome, func(t *testing.T) {
			out, end := captured(t)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				defer end()
				main()
			}()
			want := []string{"order-17/receipt " + run.outcome, "receipt for order 17"}
			for _, line := range want[:run.lines] {
				if !out.Scan() || out.Text() != line {
					t.Errorf("printed %q, want %q", out.Text(), line)
				}
			}
			if err := syscall.Kill(os.Getpid(), run.signal); err != nil { // the program heeds signals since before its first line
				t.Fatal(err)
			}
			<-ended
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
