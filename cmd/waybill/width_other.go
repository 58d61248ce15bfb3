//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package main

import "os"

// terminalWidth is not known on this system.
func terminalWidth(*os.File) int { return 0 }
