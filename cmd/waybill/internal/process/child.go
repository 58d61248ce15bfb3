package process

import (
	"context"
	"io"
	"os"
)

// Child is a process that lives longer than a job. Start makes it. It is safe for concurrent use.
type Child struct {
	stdin *os.File
	errs  *tail
	end   context.CancelCauseFunc
	gone  chan struct{}
	exit  Exit // once gone is closed
}

// Start starts a process that lives until End, or until it ends by itself. stdout is called once, in a goroutine of
// its own, with what the process writes there; the reader ends when the process has. The error says that the process
// did not start.
func (c *Command) Start(stdout func(io.Reader)) (*Child, error) {
	r, err := c.prepare(nil, stdout)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancelCause(context.Background())
	child := &Child{stdin: r.streams.feed, errs: r.errs, end: end, gone: make(chan struct{})}
	started := make(chan error, 1)
	r.started = func(err error) { started <- err }
	go func() {
		defer end(nil)
		child.exit, _ = r.run(ctx, nil)
		close(child.gone)
	}()
	if err := <-started; err != nil {
		<-child.gone
		return nil, err
	}
	return child, nil
}

// Write writes to the process's stdin. It may block while the process does not read, at most until that is gone.
func (c *Child) Write(p []byte) (int, error) { return c.stdin.Write(p) }

// CloseStdin tells the process that nothing more comes.
func (c *Child) CloseStdin() { _ = c.stdin.Close() } // twice does nothing

// End tells the process to end, for a reason: its group gets SIGTERM, and SIGKILL 5 s later. It does not wait.
func (c *Child) End(why error) { c.end(why) }

// Gone is closed when the process and its group are gone, and all its output was read.
func (c *Child) Gone() <-chan struct{} { return c.gone }

// Exit tells how the process ended. It is to be called once Gone is closed.
func (c *Child) Exit() Exit { return c.exit }

// Forget forgets what the process wrote to stderr so far: Exit tells only of what comes later.
func (c *Child) Forget() { c.errs.reset() }
