package store

import (
	"context"
	"fmt"
	"time"
)

// replayKept is how long it is known how a replay was begun: longer than one is likely to be gone on with.
const replayKept = 30 * 24 * time.Hour

// Words of how a replay was begun.
const (
	replayOnce  = "once"
	replayAgain = "again"
)

// BeginReplay notes that a replay of this ID is begun, repeating effects or not, and tells how it was begun first: to go on
// with it otherwise would mix the two. Errors: as any call.
func (q *Queue) BeginReplay(ctx context.Context, id string, again bool) (first bool, err error) {
	key, word := q.tag+"replay:"+id, replayOnce
	if again {
		word = replayAgain
	}
	said, err := command(ctx, q.store.rdb, func() (string, error) {
		if _, err := q.store.rdb.SetNX(ctx, key, word, replayKept).Result(); err != nil {
			return "", err
		}
		return q.store.rdb.Get(ctx, key).Result()
	})
	if err != nil {
		return false, fmt.Errorf("begin replay %s: %w", id, readError("replay", q.name, err))
	}
	return said == replayAgain, nil
}
