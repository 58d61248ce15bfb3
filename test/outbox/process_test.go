package outboxtest_test

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

	outboxtest "github.com/waybillhq/waybill/test/outbox"
)

// process is a running program of package worker.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{} // closed when it has ended and all that it said was read

	mu     sync.Mutex
	said   []outboxtest.Said
	stderr bytes.Buffer
}

// start starts a process. Where it still runs at the end of the test it is killed.
func start(t *testing.T, o outboxtest.Orders) (*process, error) {
	orders, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(binary, string(orders)), ended: make(chan struct{})} //nolint:noctx // it ends by a signal
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil { // the process ends with it: also where this one is killed
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.listen(out)
	t.Cleanup(p.kill)
	return p, nil
}

func (p *process) listen(out io.Reader) {
	defer close(p.ended)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var s outboxtest.Said
		if json.Unmarshal(lines.Bytes(), &s) == nil {
			p.mu.Lock()
			p.said = append(p.said, s)
			p.mu.Unlock()
		}
	}
	_ = p.cmd.Wait() // its state tells more
}

// all is what it has said until now.
func (p *process) all() []outboxtest.Said {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said[:len(p.said):len(p.said)]
}

// kill ends it with SIGKILL.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(os.Kill)
	<-p.ended
	_ = p.stdin.Close()
}

// stop lets it end by itself; an error says how else it ended.
func (p *process) stop() error {
	_ = p.stdin.Close()
	<-p.ended
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("a process ended with %s: %s", p.cmd.ProcessState, p.stderr.String())
	}
	return nil
}

// killed says, once it has ended, whether SIGKILL has ended it.
func (p *process) killed() bool {
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status.Signaled() && status.Signal() == syscall.SIGKILL
}

// up says whether a relay has come to its first boundary.
func (p *process) up() bool {
	for _, s := range p.all() {
		if s.Up {
			return true
		}
	}
	return false
}

// over says whether it has ended.
func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// died is the boundary at which it killed itself; "" = at none.
func (p *process) died() outboxtest.Boundary {
	for _, s := range p.all() {
		if s.At != "" && p.killed() {
			return s.At
		}
	}
	return ""
}
