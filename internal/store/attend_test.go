package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// lateAnswer is a hook that holds the answer to one command back until the context of its call has ended, and then
// gives it: to whom, nobody says. So the goroutine of a call that was given up goes on while its caller does.
type lateAnswer struct {
	to   string             // the command; of a pipeline the first one
	came context.CancelFunc // called when the answer is there
	gone chan struct{}      // closed when it was given
}

func (l *lateAnswer) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *lateAnswer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		l.hold(ctx, cmd)
		return err
	}
}

func (l *lateAnswer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		l.hold(ctx, cmds[0])
		return err
	}
}

func (l *lateAnswer) hold(ctx context.Context, cmd redis.Cmder) {
	if cmd.Name() == l.to {
		l.came()
		<-ctx.Done()
		close(l.gone)
	}
}

type shortCall func(context.Context, *store.Store, *store.Queue) (any, error)

// A call is given up when its context ends, and its answer comes all the same. What the caller was told does not
// change then: the race detector looks on.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	direct := srv.Client()
	there, _ := storeOn(t, direct)
	if _, err := there.Appear(t.Context(), "w", []byte("here"), time.Hour); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, to string
		call     shortCall
	}{
		{"server", "info", asksServer},
		{"server's fsync", "config", asksServer},
		{"settings", "hmget", func(ctx context.Context, _ *store.Store, q *store.Queue) (any, error) { return q.Settings(ctx) }},
		{"register", "sadd", func(ctx context.Context, _ *store.Store, q *store.Queue) (any, error) { return nil, q.Register(ctx) }},
		{"queues", "smembers", func(ctx context.Context, s *store.Store, _ *store.Queue) (any, error) { return s.Queues(ctx) }},
		{"appear", "sadd", func(ctx context.Context, s *store.Store, _ *store.Queue) (any, error) {
			return s.Appear(ctx, "w", []byte("here"), time.Minute)
		}},
		{"vanish", "srem", func(ctx context.Context, s *store.Store, _ *store.Queue) (any, error) { return nil, s.Vanish(ctx, "v") }},
		{"workers", "smembers", asksWorkers},
		{"what workers say", "get", asksWorkers},
		{"ask", "exists", func(ctx context.Context, s *store.Store, _ *store.Queue) (any, error) {
			return nil, s.Ask(ctx, "w", "q", store.WishStop)
		}},
		{"fields of an audit", "hscan", audits},
		{"keys of an audit", "scan", audits},
		{"script", "evalsha", func(ctx context.Context, _ *store.Store, q *store.Queue) (any, error) { return q.Stats(ctx) }},
		{"load of a script", "script", func(ctx context.Context, _ *store.Store, q *store.Queue) (any, error) {
			return q.Cancel(ctx, "why", "none")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for given, tries := 0, 0; given < 5; tries++ {
				if c.to == "script" {
					direct.ScriptFlush(t.Context())
				}
				switch err := givesUp(t, srv.Client(), c.to, c.call); {
				case errors.Is(err, context.Canceled):
					given++
				case err != nil || tries == 100: // nil: the answer was the quicker one
					t.Fatalf("%d calls of %d were given up: %v", given, tries+1, err)
				}
			}
		})
	}
}

// asksServer tells also of an answer that Server goes without.
func asksServer(ctx context.Context, s *store.Store, _ *store.Queue) (any, error) {
	got, err := s.Server(ctx)
	if err == nil && got.Fsync == "" {
		err = ctx.Err()
	}
	return got, err
}

func asksWorkers(ctx context.Context, s *store.Store, _ *store.Queue) (any, error) {
	return s.Workers(ctx)
}

func audits(ctx context.Context, _ *store.Store, q *store.Queue) (any, error) {
	return q.Audit(false).Run(ctx)
}

// givesUp makes a call whose context ends when the answer to a command is there and not yet given, and returns its error.
func givesUp(t *testing.T, rdb *redis.Client, to string, call shortCall) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	late := &lateAnswer{to: to, came: cancel, gone: make(chan struct{})}
	rdb.AddHook(late)
	s, q := storeOn(t, rdb)
	_, err := call(ctx, s, q)
	select {
	case <-late.gone:
	case <-time.After(10 * time.Second):
		t.Fatalf("no %s was sent", to)
	}
	return err
}

func storeOn(t *testing.T, rdb *redis.Client) (*store.Store, *store.Queue) {
	t.Helper()
	s, err := store.New(rdb, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := s.Queue("q")
	if err != nil {
		t.Fatal(err)
	}
	return s, q
}
