package program

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

// Process is a running program whose lines are of type S. It is safe for concurrent use.
type Process[S any] struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan struct{} // closed when it has ended and all that it said was read

	mu     sync.Mutex
	said   []S
	stderr bytes.Buffer
}

// Start starts a program. Where it still runs at the end of the test it is killed.
func Start[S any](t testing.TB, binary string, orders any) (*Process[S], error) {
	told, err := json.Marshal(orders)
	if err != nil {
		return nil, err
	}
	p := &Process[S]{cmd: exec.Command(binary, string(told)), ended: make(chan struct{})} //nolint:noctx // it ends by a signal
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil { // the program ends with it: also where this process is killed
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.listen(out)
	t.Cleanup(p.Kill)
	return p, nil
}

func (p *Process[S]) listen(out io.Reader) {
	defer close(p.ended)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var s S
		if json.Unmarshal(lines.Bytes(), &s) == nil {
			p.mu.Lock()
			p.said = append(p.said, s)
			p.mu.Unlock()
		}
	}
	_ = p.cmd.Wait() // its state tells more
}

// Said is all that it has said until now, in order.
func (p *Process[S]) Said() []S {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said[:len(p.said):len(p.said)]
}

// Tell writes a line to its standard input. A program that has ended hears nothing.
func (p *Process[S]) Tell(line string) { _, _ = io.WriteString(p.stdin, line+"\n") }

// Signal sends a signal; none is sent to a program that has ended.
func (p *Process[S]) Signal(sig os.Signal) { _ = p.cmd.Process.Signal(sig) }

// Kill ends it with SIGKILL and returns when it has ended.
func (p *Process[S]) Kill() {
	_ = p.cmd.Process.Signal(os.Kill)
	<-p.ended
	_ = p.stdin.Close()
}

// Stop closes its standard input and waits for its end. An error says how else than well it ended.
func (p *Process[S]) Stop() error {
	_ = p.stdin.Close()
	return p.Wait()
}

// Wait waits until it ends by itself. An error says how else than well it ended.
func (p *Process[S]) Wait() error {
	<-p.ended
	_ = p.stdin.Close()
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("a program ended with %s: %s", p.cmd.ProcessState, p.stderr.String())
	}
	return nil
}

// Ended is closed when it has ended and all that it said can be had.
func (p *Process[S]) Ended() <-chan struct{} { return p.ended }

// Killed says, once it has ended, whether SIGKILL has ended it.
func (p *Process[S]) Killed() bool {
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status.Signaled() && status.Signal() == syscall.SIGKILL
}
