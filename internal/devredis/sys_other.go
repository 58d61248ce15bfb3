//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package devredis

import (
	"os"
	"syscall"
)

func childAttr(Command) *syscall.SysProcAttr { return nil }

// lockFile locks nothing: these systems have no redis-server to protect.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}
