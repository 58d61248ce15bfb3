package database

import "errors"

var (
	// ErrURL says that the URL is wrong: nothing was opened or sent.
	ErrURL = errors.New("wrong database URL")

	// ErrConnect says that the database did not answer, or refused: the address, the account, or a file that is no
	// database.
	ErrConnect = errors.New("can't connect to the database")
)
