package pipe

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/waybillhq/waybill/cmd/waybill/internal/process"
)

// Keys of log attributes.
const (
	keyJob   = "job"
	keyType  = "type"
	keyError = "error"
)

var errClosedStdout = errors.New("closed its stdout")

// exitTime is how long a child that closed its stdout has to exit: most did so because they exit.
const exitTime = time.Second

// shownLine is how much of a line that is no message is passed on: readers of logs have limits too.
const shownLine = 32 << 10

// child is a process that does one job after another.
type child struct {
	proc   *process.Child
	stderr io.Writer
	log    *slog.Logger
	ready  chan struct{} // closed when it said so
	mute   chan struct{} // closed when nothing more can be heard of it
	fault  error         // why, once mute is closed
	back   chan bool     // whoever had it is done; whether it did anything

	once sync.Once
	mu   sync.Mutex
	now  *talk // nil: it has no job
}

// talk is what a child says of one job.
type talk struct {
	job, token string
	settled    chan message // the first one
	progress   chan message // the last one
}

// startChild starts a child. It is not ready yet.
func (p *Pool) startChild() (*child, error) {
	c := &child{
		stderr: p.o.Stderr, log: p.o.Log, ready: make(chan struct{}), mute: make(chan struct{}), back: make(chan bool, 1),
	}
	command := process.Command{Argv: p.o.Argv, Env: p.o.Env, Stderr: p.o.Stderr, Groups: &p.groups}
	var err error
	c.proc, err = command.Start(c.listen)
	return c, err
}

// listen hears what the child says, until it says no more. It waits for nobody: a child that talks too much
// is never held up.
func (c *child) listen(stdout io.Reader) {
	c.fault = errClosedStdout
	if err := eachLine(stdout, c.hear); err != nil {
		c.fault = err
	}
	close(c.mute)
}

func (c *child) hear(line []byte) {
	c.mu.Lock()
	now := c.now
	c.mu.Unlock()
	token := ""
	if now != nil {
		token = now.token
	}
	m, ok := parse(line, token)
	switch {
	case !ok:
		_, _ = c.stderr.Write(append(line[:min(len(line), shownLine)], '\n')) // nobody may listen
	case m.Type == typeReady:
		c.once.Do(func() { close(c.ready) })
	case token == "" || m.Token != token:
		c.log.Debug("a message that is not of the job that runs: ignored", slog.String(keyType, m.Type))
	case m.Type == typeSettle:
		select {
		case now.settled <- m:
		default: // it was settled before
		}
	default:
		now.note(m)
	}
}

// note keeps the last progress only.
func (t *talk) note(m message) {
	select {
	case <-t.progress:
	default:
	}
	select {
	case t.progress <- m:
	default:
	}
}

// begin makes the child the one that has a job; what it wrote to stderr before is of other jobs.
func (c *child) begin(id, token string) *talk {
	t := &talk{job: id, token: token, settled: make(chan message, 1), progress: make(chan message, 1)}
	c.proc.Forget()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
	return t
}

func (c *child) over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = nil
}

// end ends the child's process and waits until it is gone, and all that it said was heard.
func (c *child) end(why error) process.Exit {
	c.proc.End(why)
	<-c.proc.Gone()
	return c.proc.Exit()
}

// buried waits for the end of a child that says no more, and ends it where it stays.
func (c *child) buried() process.Exit {
	if errors.Is(c.fault, errClosedStdout) {
		enough := time.NewTimer(exitTime)
		defer enough.Stop()
		select {
		case <-c.proc.Gone():
			return c.proc.Exit()
		case <-enough.C:
		}
	}
	return c.end(c.fault)
}

// quit lets the child end by itself, as it has no job: it sees the end of its stdin. Later it is made to.
func (c *child) quit(ending <-chan struct{}) {
	c.proc.CloseStdin()
	enough := time.NewTimer(process.KillAfter)
	defer enough.Stop()
	select {
	case <-c.proc.Gone():
		return
	case <-ending:
	case <-enough.C:
	}
	c.end(context.Canceled)
}
