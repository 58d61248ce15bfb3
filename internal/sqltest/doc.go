// Package sqltest gives tests SQL databases of their own: PostgreSQL, MariaDB, and SQLite with two drivers. It is
// imported by tests only.
//
// [Each] runs a test on all of them; [Postgres], [MariaDB], [SQLite] and [SQLiteCgo] give one. Every call gives an
// empty database. The servers are started at first use, one of each kind for the whole test binary, in about two
// seconds, without fsync. [Start] is for tests that stop, kill or configure a server.
//
// Every server is a child that this package started and that dies with the test process; no test ever touches another
// database. Where a server is not installed, tests skip and say so; with the environment variable CI set they fail
// instead.
package sqltest
