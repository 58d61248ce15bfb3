// Asynq moves the tasks that wait in asynq into Waybill:
//
//	go run -C migrate/asynq . --from redis://… --to redis://… [--queue NAME[=NAME]]… [--kind TYPE=KIND]… [--archived] [--dry-run]
//
// A task is deleted in asynq only after Waybill has answered that it holds the job: the program may be killed and run
// again, as long as Waybill knows the IDs of jobs that ended meanwhile (an hour, unless the queue's window is longer).
// It pauses each queue in asynq, so that no task is begun there while it is moved; the queue stays paused. Active tasks
// are left to asynq's workers; what they put back, a further run moves. docs/guides/asynq.md says more.
//
// Status 0: all was moved. 1: something is left, or went wrong. 2: bad usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(Run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// renamed is a flag given as OLD=NEW, any number of times. OLD alone stands for itself.
type renamed map[string]string

func (r renamed) String() string { return "" }

// Set takes one OLD=NEW.
func (r renamed) Set(text string) error {
	before, after, _ := strings.Cut(text, "=")
	r[before] = after
	return nil
}

// name is a name of asynq as Waybill takes it: "mail:welcome" is "mail.welcome", unless told otherwise.
func (r renamed) name(old string) string {
	if r[old] != "" {
		return r[old]
	}
	return strings.ReplaceAll(old, ":", ".")
}

// Run is the program; it gives its exit status.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	m := mover{queues: renamed{}, kinds: renamed{}, out: stdout}
	flags := flag.NewFlagSet("asynq", flag.ContinueOnError)
	flags.SetOutput(stderr)
	from := flags.String("from", os.Getenv("ASYNQ_REDIS"), "`URL` of asynq's Redis; ASYNQ_REDIS keeps it off the command line")
	to := flags.String("to", os.Getenv("WAYBILL_REDIS"), "`URL` of Waybill's Redis; or WAYBILL_REDIS")
	flags.Var(m.queues, "queue", "only this queue, under another name where given, as `NAME[=NAME]`; repeatable")
	flags.Var(m.kinds, "kind", "the kind that a task type becomes, as `TYPE=KIND`; else the type with . in place of :; repeatable")
	flags.BoolVar(&m.archived, "archived", false, "move archived tasks too, as dead jobs")
	flags.BoolVar(&m.dryRun, "dry-run", false, "tell what would be moved; pause, move and delete nothing")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	source, fromErr := asynq.ParseRedisURI(*from)
	target, toErr := redis.ParseURL(*to)
	if fromErr != nil || toErr != nil || flags.NArg() > 0 { // their errors may hold passwords
		fmt.Fprintln(stderr, "asynq: give --from and --to, each the URL of a Redis, as redis://HOST:PORT/DB, and nothing else")
		return 2
	}
	rdb := redis.NewClient(target)
	defer rdb.Close()
	// A task that is there already is not the place to be strict about size: Waybill's hard limit.
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{MaxPayload: maxPayload})
	if err != nil {
		fmt.Fprintln(stderr, "asynq:", err)
		return 2
	}
	m.inspector, m.client = asynq.NewInspector(source), client
	defer m.inspector.Close()
	if err := m.all(ctx); err != nil {
		fmt.Fprintf(stderr, "asynq: %v\n", err)
		return 1
	}
	return 0
}
