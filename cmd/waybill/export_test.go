package main

import "io"

// Main is the whole program, for script tests.
var Main = main

// Run is the whole program but for its streams and environment.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	return run(args, world{stdin, stdout, stderr, env})
}
