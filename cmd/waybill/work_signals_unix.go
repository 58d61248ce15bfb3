//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package main

import (
	"os"
	"syscall"
)

// quietSignals ask a worker to claim no more and go on.
var quietSignals = []os.Signal{syscall.SIGTSTP}
