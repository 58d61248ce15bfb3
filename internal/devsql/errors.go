package devsql

import "errors"

var (
	// ErrMissing says that the database's programs are not installed.
	ErrMissing = errors.New("not installed")

	// ErrNoServer says that the dialect has no server that could be started: SQLite is a file, and MySQL was not
	// tried.
	ErrNoServer = errors.New("no server to start")
)
