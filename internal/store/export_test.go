package store

import "github.com/redis/go-redis/v9"

// TestClock reads the time from the key "clock" of the queue, in ms, so that tests move it.
const TestClock = `(function() local ms = tonumber(call('GET', TAG .. 'clock')) return {math.floor(ms / 1000), ms % 1000 * 1000} end)()`

// NewForTest makes a store with a clock expression ("" = the server's) and, at wish, without script headers. It
// sends nothing again because an answer is late: what is asked once is answered as once.
func NewForTest(rdb redis.UniversalClient, prefix, clock string, noHeaders bool) (*Store, error) {
	return New(rdb, Options{Prefix: prefix, clock: clock, noHeaders: noHeaders, unhurried: true})
}

// Tag is what stands before every key of the queue.
func (q *Queue) Tag() string { return q.tag }

// Raw is the word as it stands in Redis.
func (w Word) Raw() string { return w.raw }

// FixedKeys are the names of a queue's keys that do not name a job.
func FixedKeys() []string { return fixedKeys[:] }

// Source is the full text of a script.
func Source(name string) string { return build(verbOf(name), clockLine).source }

func verbOf(name string) verb {
	for _, v := range verbs {
		if v.name == name {
			return v
		}
	}
	panic(name)
}
