//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package main

import "os"

// quietSignals: these systems have none.
var quietSignals []os.Signal
