package devredis

import "syscall"

// childAttr has the kernel signal the child when the thread that started it ends,
// and keeps the terminal's signals from it.
func childAttr(c Command) *syscall.SysProcAttr {
	sig := c.DeathSignal
	if sig == 0 {
		sig = syscall.SIGKILL
	}
	return &syscall.SysProcAttr{Pdeathsig: sig, Setpgid: true, Credential: credential(c.User)}
}
