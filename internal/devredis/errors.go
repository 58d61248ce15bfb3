package devredis

import "errors"

var (
	// ErrAddrInUse says that another process listens on the wanted address.
	ErrAddrInUse = errors.New("address already in use")

	// ErrDirInUse says that another server uses the wanted data directory.
	ErrDirInUse = errors.New("data directory already in use")

	// ErrNotLoopback says that the wanted address is not a loopback address.
	// A server without a password must not be reachable from elsewhere.
	ErrNotLoopback = errors.New("not a loopback address")

	// ErrExited says that the server ended before it was asked to. The error
	// that wraps it carries the last lines of the server's output.
	ErrExited = errors.New("server exited")
)
