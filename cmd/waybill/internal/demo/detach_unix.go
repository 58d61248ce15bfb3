//go:build unix

package demo

import "syscall"

// detached puts a process in a session of its own: it outlives us, and the terminal's signals do not reach it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
