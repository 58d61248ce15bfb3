// Package beside has the same work with asynq and with Waybill, for docs/guides/asynq.md.
package beside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
)

// Welcome is the payload.
type Welcome struct{ User int }

// Send sends the mail. ErrNoUser says that no retry will help.
type Send func(ctx context.Context, user int) error

// ErrNoUser is of a user who is gone.
var ErrNoUser = errors.New("no such user")

// EnqueueAsynq sends the job once, though it may be called twice.
func EnqueueAsynq(client *asynq.Client, user int) error {
	payload, err := json.Marshal(Welcome{user})
	if err != nil {
		return err
	}
	task := asynq.NewTask("mail:welcome", payload, asynq.Queue("mail"), asynq.MaxRetry(5), asynq.Timeout(time.Minute))
	_, err = client.Enqueue(task, asynq.TaskID(fmt.Sprintf("user-%d/welcome", user)), asynq.Retention(time.Hour))
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		return nil // it is there already, or another task of this ID
	}
	return err
}

// ServeAsynq works the queue off. Shutdown of the server ends it.
func ServeAsynq(redis asynq.RedisConnOpt, send Send) (*asynq.Server, error) {
	server := asynq.NewServer(redis, asynq.Config{
		Concurrency: 10,
		Queues:      map[string]int{"mail": 1},
		LogLevel:    asynq.ErrorLevel,
	})
	mux := asynq.NewServeMux()
	mux.HandleFunc("mail:welcome", func(ctx context.Context, task *asynq.Task) error {
		var args Welcome
		if err := json.Unmarshal(task.Payload(), &args); err != nil {
			return fmt.Errorf("%w: %w", err, asynq.SkipRetry)
		}
		err := send(ctx, args.User)
		if errors.Is(err, ErrNoUser) {
			return fmt.Errorf("%w: %w", err, asynq.SkipRetry)
		}
		return err
	})
	return server, server.Start(mux)
}
