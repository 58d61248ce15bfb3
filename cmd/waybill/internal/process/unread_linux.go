package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// unread is how many bytes a pipe holds that nobody has read, asked at its writing end.
func unread(pipe *os.File) (n int) {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return 0
	}
	_ = conn.Control(func(fd uintptr) { // closed: nobody waits for the answer
		n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	})
	return n
}
