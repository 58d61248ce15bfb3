package devredis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Find returns the path of redis-server or else valkey-server, looked up on the
// PATH.
func Find() (binary string, ok bool) {
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}

// Command describes a child process.
type Command struct {
	Binary string   // path of the program
	Args   []string // its arguments, without the program's name
	Dir    string   // its working directory; empty means the caller's

	// Lock, unless nil, is a locked file: the child inherits it, and so holds
	// the lock until it ends. The caller closes its own handle.
	Lock *os.File

	// User, unless nil, is the account that the child runs as. Only root may
	// say so; systems without such accounts ignore it.
	User *User

	// DeathSignal is sent to the child when this process ends, on Linux only.
	// 0 means SIGKILL.
	DeathSignal syscall.Signal
}

// User is an account of the system, by number.
type User struct{ UID, GID uint32 }

// Process is a child that was started. On Linux it is killed when the process
// that started it ends, however that ends. It runs in a process group of its
// own, so an interrupt typed at the terminal does not reach it. Its methods may
// be called from any goroutine.
type Process struct {
	cmd  *exec.Cmd
	tail tail
	done chan struct{}
	err  error // set before done is closed
}

// Start starts the child. Its goroutine ends when the child does.
func (c Command) Start() (*Process, error) {
	// The child's life is not a context's: Stop and Kill end it.
	p := &Process{
		cmd:  exec.CommandContext(context.Background(), c.Binary, c.Args...),
		done: make(chan struct{}),
	}
	p.cmd.Dir = c.Dir
	p.cmd.Stdout, p.cmd.Stderr = &p.tail, &p.tail
	p.cmd.SysProcAttr = childAttr(c)
	// A fork of the child, saving a snapshot, may hold the output open.
	p.cmd.WaitDelay = 200 * time.Millisecond
	if c.Lock != nil {
		p.cmd.ExtraFiles = []*os.File{c.Lock}
	}
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Binary, err)
	}
	return p, nil
}

// run starts the child and waits for it on one thread, since the kernel kills
// the child when the *thread* that started it ends.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.err = p.cmd.Wait()
	if errors.Is(p.err, exec.ErrWaitDelay) {
		p.err = nil
	}
	close(p.done)
}

// PID is the child's process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Output returns the last lines that the child wrote, at most 4 KiB.
func (p *Process) Output() string { return p.tail.String() }

// Signal sends a signal. It fails with [os.ErrProcessDone] when the child has
// ended.
func (p *Process) Signal(sig os.Signal) error { return p.cmd.Process.Signal(sig) }

// Kill ends the child at once and waits until it has ended.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails only if it has ended
	<-p.done
}

// Stop asks the child to end with SIGTERM and waits; after the grace it kills.
// A nil error means that the child ended with status 0.
func (p *Process) Stop(grace time.Duration) error {
	if p.Signal(syscall.SIGTERM) != nil {
		p.Kill() // ended already, or a system without SIGTERM
		return p.exitError()
	}
	select {
	case <-p.done:
		return p.exitError()
	case <-time.After(grace):
		p.Kill()
		return fmt.Errorf("stop %s: killed after %v", p.cmd.Path, grace)
	}
}

func (p *Process) exitError() error {
	if p.err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w; its last output:\n%s", ErrExited, p.err, p.Output())
}
