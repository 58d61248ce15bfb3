// Command waybill is the queue's command line: it enqueues, works, shows how jobs and queues
// stand, and starts a Redis for development. docs/protocol.md and the package waybill are for those
// who would rather write a program.
//
// A file holds a command. What a call that failed means, for people and for scripts, stands in one
// table, in errors.go.
package main

import (
	"os"

	"github.com/redis/go-redis/v9/logging"
)

func main() {
	logging.Disable() // of the Redis library, whose errors are returned too, and told once
	os.Exit(run(os.Args[1:], world{os.Stdin, os.Stdout, os.Stderr, os.Environ()}))
}
