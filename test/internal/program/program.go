// Package program builds and runs the programs that tests kill. A program is told what to do as JSON in its only argument,
// says lines of JSON on its standard output, and ends when its standard input does.
package program

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9/logging"
)

// BinaryEnv names, in the environment, a program that was built before: it is run, and none is built. What runs many test
// binaries with one program builds it once.
const BinaryEnv = "WAYBILL_PROGRAM"

// Built is a [testing.M] whose tests run a program: it is built before them and removed after them.
type Built struct {
	M        *testing.M
	Source   string  // directory of the program, as "./worker"
	Binary   *string // is set to the path of the built program
	Parallel int     // tests at a time, since they wait more than they compute
}

// Run builds, and runs the tests. Connections are cut in such tests: what go-redis would log of it is silenced.
func (b Built) Run() int {
	remove, err := b.build()
	defer remove()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(b.Parallel)); err != nil {
		panic(err)
	}
	logging.Disable()
	return b.M.Run()
}

// build builds the program, unless there is one.
func (b Built) build() (remove func(), err error) {
	if *b.Binary = os.Getenv(BinaryEnv); *b.Binary != "" {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("", "waybill-program-")
	if err != nil {
		return func() {}, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	*b.Binary = filepath.Join(dir, "program")
	out, err := exec.CommandContext(context.Background(), "go", "build", "-ldflags=-s -w", "-o", *b.Binary, b.Source).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("build: %w\n%s", err, out)
	}
	return remove, err
}
