package devredis

import "syscall"

// childAttr has the kernel kill the child when the thread that started it ends,
// and keeps the terminal's signals from it.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
