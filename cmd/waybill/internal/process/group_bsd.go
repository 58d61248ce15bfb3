//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package process

import "syscall"

// processAttr gives the child a process group of its own. These systems can't tie its life to its
// parent's: a worker that is killed leaves its commands behind.
func processAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// onlyZombies can't be told here.
func (g group) onlyZombies() bool { return false }
