package waybilltest

import "context"

// Soon counts the jobs of a queue that the next claim makes ready.
func (e *Env) Soon(ctx context.Context, queue string) int64 { return e.soon(ctx, queue) }
