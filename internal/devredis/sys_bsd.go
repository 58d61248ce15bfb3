//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package devredis

import "syscall"

// childAttr keeps the terminal's signals from the child. These systems have no
// way to tie the child's life to its parent's.
func childAttr(c Command) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: credential(c.User)}
}
