package effects_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"syscall"

	"github.com/waybillhq/waybill/test/effects"
)

// one runs a worker process to its end: until it kills itself or ctx ends.
func (c *cell) one(ctx context.Context, o effects.Orders) {
	orders, err := json.Marshal(o)
	if err != nil {
		c.oddly("orders: %v", err)
		return
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, string(orders))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	stdin, err := cmd.StdinPipe() // the worker ends with it: also where this process is killed
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		if ctx.Err() == nil {
			c.oddly("start a worker: %v", err)
		}
		return
	}
	_ = cmd.Wait() // its state tells more
	_ = stdin.Close()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	var d effects.Death
	said := json.Unmarshal(stdout.Bytes(), &d)
	switch {
	case said == nil && status.Signaled() && status.Signal() == syscall.SIGKILL:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.deaths = append(c.deaths, d)
	case ctx.Err() == nil:
		c.oddly("a worker ended with %s: %s%s", cmd.ProcessState, stdout.String(), stderr.String())
	}
}

func (c *cell) oddly(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.odd = append(c.odd, fmt.Sprintf(format, args...))
}
