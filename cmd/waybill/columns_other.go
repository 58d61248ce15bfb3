//go:build !unix

package main

import "io"

// columns is the width of a terminal: not known here.
func columns(io.Writer) int { return 0 }
