package process

import (
	"context"
	"io"
)

// Once is a process for one job.
type Once struct {
	Command
	Stdin   []byte // a process need not read it
	Most    int    // bytes of stdout that are kept; the rest is read and dropped
	Started func() // is told when the process runs
}

// Run starts the process and waits for it, and for all of its group: nothing outlives it. When ctx ends, or ending is
// closed, the group gets SIGTERM, and SIGKILL 5 s later. Beside its end it gives what the process wrote to stdout; nil
// = nothing. The error says that it did not start.
func (o *Once) Run(ctx context.Context, ending <-chan struct{}) (Exit, []byte, error) {
	out := &head{most: o.Most}
	feed := func(w io.WriteCloser) {
		_, _ = w.Write(o.Stdin)
		_ = w.Close()
	}
	r, err := o.prepare(feed, func(from io.Reader) { _, _ = io.Copy(out, from) })
	if err != nil {
		return Exit{}, nil, err
	}
	r.started = func(said error) {
		if err = said; err == nil {
			o.Started()
		}
	}
	end, _ := r.run(ctx, ending)
	return end, out.bytes(), err
}
