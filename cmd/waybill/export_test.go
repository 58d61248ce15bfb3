package main

import (
	"io"

	"github.com/redis/go-redis/v9"
)

// Main is the whole program, for script tests.
var Main = main

// Run is the whole program but for its streams and environment.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	return run(args, world{stdin, stdout, stderr, env})
}

// ParseTarget reads the URL of a Redis. One of the three is not nil where err is nil.
func ParseTarget(url string) (*redis.Options, *redis.FailoverOptions, *redis.ClusterOptions, error) {
	t, err := parseTarget(url)
	return t.server, t.sentinel, t.cluster, err
}
