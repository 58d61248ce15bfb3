package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// Presence is how workers are seen and reached: a key each, which goes by its time, and one set that names them. It
// serves people who look on and who ask a worker to stop; no job depends on it.

// A Wish is what an operator asks a worker for.
type Wish string

// Wishes.
const (
	NoWish    Wish = ""
	WishQuiet Wish = "quiet" // claim nothing more
	WishStop  Wish = "stop"  // end
)

// wishLife is how long a wish waits for its worker.
const wishLife = time.Hour

func (s *Store) workersKey() string         { return s.prefix + ":workers" }
func (s *Store) workerKey(id string) string { return s.prefix + ":worker:" + id }
func (s *Store) wishKey(id string) string   { return s.prefix + ":worker:" + id + ":wish" }

// Appear says that a worker is there, for so long, and what people are to know of it. It gives what is wished of it.
// The caller leaves about as it is: a call that was given up may still send it.
func (s *Store) Appear(ctx context.Context, id string, about []byte, life time.Duration) (Wish, error) {
	wish, err := pipeline(ctx, s.rdb, func() (Wish, error) {
		var said *redis.StringCmd
		_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.SAdd(ctx, s.workersKey(), id)
			p.Set(ctx, s.workerKey(id), about, life)
			said = p.Get(ctx, s.wishKey(id))
			return nil
		})
		return Wish(said.Val()), notNil(err)
	})
	if err != nil {
		return NoWish, fmt.Errorf("appear as worker %s: %w", id, err)
	}
	return wish, nil
}

// Vanish takes a worker away that has ended.
func (s *Store) Vanish(ctx context.Context, id string) error {
	_, err := pipeline(ctx, s.rdb, func() ([]redis.Cmder, error) {
		return s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.SRem(ctx, s.workersKey(), id)
			p.Del(ctx, s.workerKey(id))
			p.Del(ctx, s.wishKey(id))
			return nil
		})
	})
	return err
}

// Workers gives what is known of the workers that are there, by ID, and forgets those that are gone.
func (s *Store) Workers(ctx context.Context) (map[string][]byte, error) {
	ids, err := command(ctx, s.rdb, func() ([]string, error) { return s.rdb.SMembers(ctx, s.workersKey()).Result() })
	out := make(map[string][]byte, len(ids))
	for part := range slices.Chunk(ids, maxItems) {
		if err = s.about(ctx, part, out); err != nil {
			break
		}
	}
	if err != nil {
		return nil, readError("workers", s.prefix, err)
	}
	return out, nil
}

// about adds to out what some of the workers say.
func (s *Store) about(ctx context.Context, ids []string, out map[string][]byte) error {
	said, err := pipeline(ctx, s.rdb, func() ([]*redis.StringCmd, error) {
		said := make([]*redis.StringCmd, len(ids))
		_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, id := range ids {
				said[i] = p.Get(ctx, s.workerKey(id))
			}
			return nil
		})
		return said, notNil(err)
	})
	if err != nil {
		return err
	}
	var gone []any
	for i, id := range ids {
		switch about, err := said[i].Bytes(); {
		case err == nil:
			out[id] = about
		case errors.Is(err, redis.Nil):
			gone = append(gone, id)
		default:
			return err // the pipeline tells of its first command alone
		}
	}
	if len(gone) > 0 {
		_, _ = attend(ctx, 0, func() (int64, error) { // else the next look does it
			return s.rdb.SRem(ctx, s.workersKey(), gone...).Result()
		})
	}
	return nil
}

// Ask leaves a wish for a worker, and calls it by the control channel of a queue that it works off; where that is not
// heard it finds the wish when it next appears. Errors: ErrNotFound where there is no such worker.
func (s *Store) Ask(ctx context.Context, id, queue string, w Wish) error {
	there, err := pipeline(ctx, s.rdb, func() (int64, error) {
		var said *redis.IntCmd
		_, err := s.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			said = p.Exists(ctx, s.workerKey(id))
			p.Set(ctx, s.wishKey(id), string(w), wishLife)
			return nil
		})
		return said.Val(), err
	})
	switch {
	case err != nil:
		kind, _ := classify(err)
		return &CallError{Verb: "ask worker", Queue: queue, Kind: kind, Err: readable(err)}
	case there == 0:
		_ = s.rdb.Del(ctx, s.wishKey(id)).Err() // it goes by its time
		return fmt.Errorf("worker %s: %w", id, ErrNoWorker)
	}
	if queue != "" {
		_ = s.rdb.Publish(ctx, tag(s.prefix, queue)+string(ControlChannel), WishNotice+id).Err() // speed alone
	}
	return nil
}

// WishNotice stands before the ID of a worker that has a wish to read, on the control channel.
const WishNotice = "worker "

// notNil takes away the error that says no more than that a key does not exist.
func notNil(err error) error {
	if err == redis.Nil { //nolint:errorlint // a pipeline gives the error of its first command as it is
		return nil
	}
	return err
}
