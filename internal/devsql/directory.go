package devsql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"strconv"

	"github.com/waybillhq/waybill/internal/devredis"
)

// maxDir is how long a directory's name may be, in bytes, so that a socket in it has a legal name: systems allow 104
// to 108.
const maxDir = 85

// removal is a shell that waits until this process closes the pipe to it, or ends and so closes it, and then removes
// the directory. A server that is ending may still write, hence the repetition.
const removal = `trap '' HUP INT TERM
cat >/dev/null
for i in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$1" && exit; sleep 0.2; done 2>/dev/null
rm -rf "$1"`

// directory is a temporary directory that is removed when it is closed and when this process ends, however it ends.
type directory struct {
	path string
	pipe io.Closer
	cmd  *exec.Cmd
}

// newDirectory makes a directory that belongs to the account, or to the caller if that is nil.
func newDirectory(account *devredis.User) (*directory, error) {
	base := os.TempDir()
	if len(base) > maxDir-len("/wb4294967295") {
		base = "/tmp"
	}
	path, err := os.MkdirTemp(base, "wb")
	if err != nil {
		return nil, err
	}
	// Its end is not a context's: it must outlive this process.
	d := &directory{path: path, cmd: exec.CommandContext(context.Background(), "/bin/sh", "-c", removal, "sh", path)}
	d.pipe, err = d.cmd.StdinPipe()
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	if account != nil {
		err = os.Chown(path, int(account.UID), int(account.GID))
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close removes the directory and returns when it is gone.
func (d *directory) Close() error {
	err := errors.Join(d.pipe.Close(), d.cmd.Wait())
	if err != nil {
		return fmt.Errorf("remove %s: %w", d.path, err)
	}
	return nil
}

// accountOf is the account that root starts a server as; nil for others, who start it as themselves.
func accountOf(name string) (*devredis.User, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("an account for the server: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", u.Username, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", u.Username, err)
	}
	return &devredis.User{UID: uint32(uid), GID: uint32(gid)}, nil
}
