//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package devredis

import "syscall"

// credential leaves the other groups of the caller, root, behind.
func credential(u *User) *syscall.Credential {
	if u == nil {
		return nil
	}
	return &syscall.Credential{Uid: u.UID, Gid: u.GID}
}
