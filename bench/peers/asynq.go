package main

import (
	"context"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

const (
	asynqKind  = "bench:noop"
	asynqQueue = "default"
	// eagerPoll is how often an eager server looks into an empty queue; the default is a second.
	eagerPoll = 10 * time.Millisecond
)

// asynqTasks is asynq through its public API, at its defaults but for what workOptions say.
type asynqTasks struct {
	rdb       *redis.Client
	client    *asynq.Client
	inspector *asynq.Inspector
}

func openAsynq(s *server) contender {
	rdb := s.connect(poolSize)
	return &asynqTasks{
		rdb: rdb, client: asynq.NewClientFromRedisClient(rdb), inspector: asynq.NewInspectorFromRedisClient(rdb),
	}
}

func (a *asynqTasks) enqueue(ctx context.Context, payload []byte) error {
	_, err := a.client.EnqueueContext(ctx, asynq.NewTask(asynqKind, payload))
	return err
}

func (a *asynqTasks) work(ctx context.Context, o workOptions) error {
	c := asynq.Config{Concurrency: o.concurrency, LogLevel: asynq.ErrorLevel}
	if o.eager {
		c.TaskCheckInterval = eagerPoll
	}
	srv := asynq.NewServerFromRedisClient(a.rdb, c)
	err := srv.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		o.handle(t.Payload())
		return nil
	}))
	if err != nil {
		return err
	}
	<-ctx.Done()
	srv.Shutdown()
	return nil
}

func (a *asynqTasks) left(context.Context) (int, error) {
	info, err := a.inspector.GetQueueInfo(asynqQueue)
	if err != nil {
		return 0, err
	}
	return info.Size, nil
}

func (a *asynqTasks) ended(context.Context) (int, bool, error) {
	info, err := a.inspector.GetQueueInfo(asynqQueue)
	if err != nil {
		return 0, true, err
	}
	return info.ProcessedTotal - info.FailedTotal, true, nil
}

func (a *asynqTasks) close() error { return a.rdb.Close() }
