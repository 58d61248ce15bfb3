package main

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/record"
)

const (
	// payloadSize is the length of a payload in bytes.
	payloadSize = 200
	// block is how many jobs a subject takes before it is the next one's turn, and what is
	// under lease at most. It takes a subject some 10 ms.
	block = 1000
	// lease is long enough to last for a block on a busy machine.
	lease = 5 * time.Minute
)

// job is what every subject enqueues.
type job struct {
	id      string
	payload []byte
}

// newJobs makes jobs with generated IDs. No two payloads are alike: a server keeps equal
// strings of its scripts only once.
func newJobs(n int) []job {
	jobs := make([]job, n)
	for i := range jobs {
		payload := make([]byte, 0, payloadSize)
		for len(payload) < payloadSize {
			payload = strconv.AppendUint(payload, rand.Uint64(), 36)
		}
		jobs[i] = job{record.NewID(time.Now()), payload[:payloadSize]}
	}
	return jobs
}

// subject is a queue whose cost is measured. Each call does all that it is asked for or fails.
type subject interface {
	enqueue(ctx context.Context, jobs []job) error
	claim(ctx context.Context, n int) error
	settle(ctx context.Context, n int) error // n jobs claimed, in their order
}

// newSubject makes a subject on an empty server.
type newSubject func(context.Context, *redis.Client) (subject, error)

// load is what one round does: jobs, in whole blocks, in calls of so many.
type load struct{ jobs, batch int }

// result is what a job cost.
type result struct {
	enqueue, claim, settle usage
	memory                 float64 // bytes a waiting job
}

func (r result) cycle() usage { return r.claim.plus(r.settle) }

// mean of some results.
func mean(results []result) result {
	var sum result
	n := float64(len(results))
	for _, r := range results {
		sum.enqueue = sum.enqueue.plus(r.enqueue)
		sum.claim = sum.claim.plus(r.claim)
		sum.settle = sum.settle.plus(r.settle)
		sum.memory += r.memory
	}
	return result{sum.enqueue.over(n), sum.claim.over(n), sum.settle.over(n), sum.memory / n}
}
