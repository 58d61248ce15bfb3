// Package database opens the SQL databases that receipts live in, by URL, for the command line, the demo and the
// examples. A program that has a [database/sql.DB] or a pgx pool already does not need it. No package but this one
// and those that start servers for tests imports the drivers.
//
// # URLs
//
//	postgres://user:password@host:5432/database?sslmode=verify-full
//	postgresql://…                                    the same
//	mariadb://user:password@host:3306/database?tls=true
//	mariadb://user@/database?socket=/run/mysqld/mysqld.sock
//	mysql://…                                         the same; the server says which of the two it is
//	sqlite:///absolute/path.db
//	sqlite:relative/path.db?_synchronous=NORMAL
//
// Parameters go to the driver as they are: pgx, go-sql-driver/mysql and modernc.org/sqlite name theirs. For
// PostgreSQL what the URL leaves out comes from libpq's environment variables, as PGPASSWORD. For MariaDB and MySQL
// parseTime is always on. SQLite gets _journal_mode=WAL, _synchronous=FULL, _busy_timeout=5000 (milliseconds) and
// _txlock=immediate, each unless the URL says otherwise, also as _pragma.
package database
