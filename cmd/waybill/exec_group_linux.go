package main

import "syscall"

// processAttr gives the child a process group of its own, and has the kernel kill it when the
// thread that started it ends: a worker that is killed leaves no command behind.
func processAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
