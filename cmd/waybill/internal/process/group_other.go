//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package process

import (
	"os"
	"syscall"
)

func processAttr() *syscall.SysProcAttr { return nil }

// group is a process: these systems have no process groups.
type group int

func (g group) terminate() { g.kill() }

func (g group) kill() {
	if p, err := os.FindProcess(int(g)); err == nil {
		_ = p.Kill()
	}
}

func (g group) alive() bool { return false }
func (g group) runs() bool  { return false }
