package main

import "context"

// contender is a job queue on one server.
type contender interface {
	// enqueue adds one job. It is called by many at once.
	enqueue(ctx context.Context, payload []byte) error
	// work runs jobs until ctx ends.
	work(ctx context.Context, o workOptions) error
	// left is how many jobs have not ended.
	left(ctx context.Context) (int, error)
	// ended is how many jobs the queue itself says have ended well; false where it does not count.
	ended(ctx context.Context) (n int, counts bool, err error)
	close() error
}

// bulk is a contender that takes many jobs in one call.
type bulk interface {
	enqueueMany(ctx context.Context, payloads [][]byte) error
}

// workOptions say how jobs are run.
type workOptions struct {
	concurrency int  // handlers at a time
	eager       bool // of a system that polls: every 10 ms instead of at its default
	handle      func(payload []byte)
}

// Names of the systems.
const (
	sysWaybill = "waybill"
	sysAsynq   = "asynq"
	sysEager   = "asynq, 10 ms" // asynq with a shorter poll than its default
	sysBare    = "bare"
)

// open makes a system ready on an empty server.
func open(ctx context.Context, name string, s *server) (contender, error) {
	switch name {
	case sysWaybill:
		return openWaybill(s)
	case sysBare:
		return openBare(ctx, s)
	default:
		return openAsynq(s), nil
	}
}
