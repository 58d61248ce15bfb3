package dialect

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"syscall"
)

// Fault is what an error of a database says about the transaction it came in.
type Fault int

// The faults. After every one but Other the whole transaction may be run again.
const (
	Other   Fault = iota // the statement is wrong, or it is no error of the database
	Again                // serialization failure or deadlock: the transaction lost against another one
	Blocked              // it waited for a lock, in vain
	Lost                 // the connection is gone, or the server does not take one; a commit may have happened
	Missing              // there is no such table
)

func (f Fault) String() string {
	return [...]string{"other", "again", "blocked", "lost", "missing"}[f]
}

// ErrAgain is an error that says Again in every dialect.
var ErrAgain = errors.New("run the transaction again")

// ForeignError is what a user's function inside a transaction returned. Of it only what a database's driver said counts: a
// network error there may be of any other system.
type ForeignError struct{ Err error }

func (e *ForeignError) Error() string { return e.Err.Error() }

// Unwrap gives the user's error.
func (e *ForeignError) Unwrap() error { return e.Err }

// Fault classifies an error of the database's driver: pgx or lib/pq, go-sql-driver, modernc.org/sqlite or mattn's.
func (d Dialect) Fault(err error) Fault {
	if err == nil {
		return Other
	}
	if errors.Is(err, ErrAgain) {
		return Again
	}
	var f Fault
	switch d {
	case PostgreSQL:
		f = postgresFault(err)
	case MariaDB, MySQL:
		f = mariaFault(err)
	case SQLite:
		f = sqliteFault(err)
	}
	var foreign *ForeignError
	own := !errors.As(err, &foreign)
	switch {
	case f != Other:
	case own && d.stopped(err):
		return Blocked
	case bad(err), own && lost(err):
		return Lost
	}
	return f
}

// stopped tells a statement that ran into a time limit of the server's. Ours only take long where they wait for a lock; one
// of the user's may be too slow by itself.
func (d Dialect) stopped(err error) bool {
	switch d {
	case PostgreSQL:
		return sqlState(err) == "57014"
	case MariaDB, MySQL:
		number, _ := field(err, "mysql.MySQLError", "Number")
		return number == 1969 || number == 3024
	}
	return false
}

// postgresFault reads the SQLSTATE. Codes: PostgreSQL's documentation, appendix A.
func postgresFault(err error) Fault {
	switch code := sqlState(err); code {
	case "40001", "40P01":
		return Again
	case "55P03":
		return Blocked
	case "42P01":
		return Missing
	case "25P03", "25P04", "53300", "57P01", "57P02", "57P03", "57P05": // ended by a time limit, too many connections, shut down
		return Lost
	default:
		if strings.HasPrefix(code, "08") {
			return Lost
		}
	}
	return Other
}

// sqlState is the SQLSTATE in an error of PostgreSQL's, or "".
func sqlState(err error) string {
	var e interface{ SQLState() string }
	if !errors.As(err, &e) {
		return ""
	}
	return e.SQLState()
}

// mariaFault reads the error number. Numbers: MariaDB's and MySQL's lists of error codes.
func mariaFault(err error) Fault {
	number, ok := field(err, "mysql.MySQLError", "Number")
	if !ok {
		return Other
	}
	switch number {
	case 1213, 1020, 1412: // deadlock, changed since the snapshot: a row, a table
		return Again
	case 1205, 3572: // in vain, with MySQL's NOWAIT
		return Blocked
	case 1146:
		return Missing
	case 1040, 1203, 1226, 1053, 1317, 1927, 2006, 2013, 4031: // too many connections, shut down, killed, gone, idle for too long
		return Lost
	}
	return Other
}

// sqliteFault reads the result code. Codes: SQLite's "Result and Error Codes".
func sqliteFault(err error) Fault {
	var code int64
	if e, ok := named(err, "sqlite.Error").(interface{ Code() int }); ok { // modernc
		code = int64(e.Code())
	} else if c, ok := field(err, "sqlite3.Error", "ExtendedCode"); ok { // mattn
		if code = c; code == 0 {
			code, _ = field(err, "sqlite3.Error", "Code")
		}
	}
	switch {
	case code == 5|2<<8: // BUSY_SNAPSHOT comes at once, and on every try in the same transaction
		return Again
	case code&0xff == 5, code&0xff == 6, code&0xff == 15: // BUSY, LOCKED, PROTOCOL: a race for the lock of the WAL
		return Blocked
	case code&0xff == 1 && strings.Contains(err.Error(), "no such table"):
		return Missing
	}
	return Other
}

// named is the error of a driver's type in the tree of err, or nil. Importing the drivers would make everybody compile all
// of them; and by its methods alone an error of another system may look like one of theirs.
func named(err error, name string) error {
	v := reflect.ValueOf(err)
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return nil // somebody's typed nil: its methods may panic
	}
	if err == nil || reflect.Indirect(v).Type().String() == name {
		return err
	}
	switch e := err.(type) { //nolint:errorlint // it walks the tree
	case interface{ Unwrap() error }:
		return named(e.Unwrap(), name)
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			if found := named(part, name); found != nil {
				return found
			}
		}
	}
	return nil
}

// field is a number in the struct of a driver's error: some give it in no other way.
func field(err error, name, number string) (int64, bool) {
	found := named(err, name)
	if found == nil {
		return 0, false
	}
	v := reflect.Indirect(reflect.ValueOf(found))
	if v.Kind() != reflect.Struct {
		return 0, false // another package's type of that name
	}
	switch f := v.FieldByName(number); {
	case f.CanInt():
		return f.Int(), true
	case f.CanUint():
		return int64(f.Uint()), true //nolint:gosec // an error number
	}
	return 0, false
}

// bad tells what only a driver says of its connection.
func bad(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		err.Error() == "invalid connection" || strings.HasSuffix(err.Error(), ": invalid connection") // go-sql-driver
}

// lost tells errors of connections in general.
func lost(err error) bool {
	for _, known := range []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNREFUSED, syscall.ENOENT,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	var n *net.OpError
	return errors.As(err, &n) || strings.HasSuffix(err.Error(), "conn closed") // pgx
}
