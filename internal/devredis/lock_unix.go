//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package devredis

import (
	"errors"
	"os"
	"syscall"
)

// lockFile opens and locks a file, or fails with ErrDirInUse. The lock belongs
// to the open file: it ends when the last process that inherited it ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrDirInUse
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
