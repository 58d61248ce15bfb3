package dialect_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"

	"github.com/waybillhq/waybill/internal/dialect"
)

// coded looks like an error of modernc.org/sqlite, numbered like one of go-sql-driver.
type coded int

func (coded) Error() string { return "not found" }
func (c coded) Code() int   { return int(c) }

type numbered struct{ Number int }

func (numbered) Error() string { return "invoice" }

// quiet bears being nil.
type quiet struct{}

func (*quiet) Error() string { return "quiet" }

func TestFault(t *testing.T) {
	t.Parallel()
	pg := func(code string) error { return &pgconn.PgError{Code: code} }
	my := func(n uint16) error { return &mysql.MySQLError{Number: n} }
	lite := func(code, more int) error {
		return sqlite3.Error{Code: sqlite3.ErrNo(code), ExtendedCode: sqlite3.ErrNoExtended(more)}
	}
	user := func(err error) error { return &dialect.ForeignError{Err: err} }
	refused := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for _, c := range []struct {
		name string
		d    dialect.Dialect
		err  error
		want dialect.Fault
	}{
		{"no error", dialect.PostgreSQL, nil, dialect.Other},
		{"a serialization failure", dialect.PostgreSQL, pg("40001"), dialect.Again},
		{"a deadlock", dialect.PostgreSQL, pg("40P01"), dialect.Again},
		{"a lock timeout", dialect.PostgreSQL, pg("55P03"), dialect.Blocked},
		{"an idle timeout", dialect.PostgreSQL, pg("25P03"), dialect.Lost},
		{"a connection failure", dialect.PostgreSQL, pg("08006"), dialect.Lost},
		{"a missing table", dialect.PostgreSQL, pg("42P01"), dialect.Missing},
		{"a duplicate", dialect.PostgreSQL, pg("23505"), dialect.Other},
		{"a deadlock", dialect.MariaDB, my(1213), dialect.Again},
		{"a changed record", dialect.MariaDB, my(1020), dialect.Again},
		{"a lock timeout", dialect.MySQL, my(1205), dialect.Blocked},
		{"a missing table", dialect.MySQL, my(1146), dialect.Missing},
		{"a duplicate", dialect.MariaDB, my(1062), dialect.Other},
		{"a lost connection", dialect.MariaDB, mysql.ErrInvalidConn, dialect.Lost},
		{"a deadlock beside another error", dialect.MariaDB, user(errors.Join(errors.New("no cover"), my(1213))), dialect.Again},
		{"a deadlock behind another error", dialect.MariaDB, fmt.Errorf("%w: %w", io.ErrNoProgress, my(1213)), dialect.Again},
		{"a user's number", dialect.MariaDB, user(numbered{1213}), dialect.Other},
		{"busy", dialect.SQLite, lite(5, 5), dialect.Blocked},
		{"busy in a snapshot", dialect.SQLite, lite(5, 517), dialect.Again},
		{"busy beside another error", dialect.SQLite, errors.Join(errors.New("no cover"), lite(5, 0)), dialect.Blocked},
		{"a user's code", dialect.SQLite, user(coded(5)), dialect.Other},
		{"a bad connection", dialect.PostgreSQL, user(driver.ErrBadConn), dialect.Lost},
		{"a refused connection", dialect.PostgreSQL, refused, dialect.Lost},
		{"a user's refused connection", dialect.PostgreSQL, user(refused), dialect.Other},
		{"a user's missing file", dialect.SQLite, user(os.ErrNotExist), dialect.Other},
		{"a reply that ends", dialect.MariaDB, io.ErrUnexpectedEOF, dialect.Lost},
		{"a statement that was stopped", dialect.PostgreSQL, pg("57014"), dialect.Blocked},
		{"a user's statement that was stopped", dialect.PostgreSQL, user(pg("57014")), dialect.Other},
		{"a transaction that took too long", dialect.PostgreSQL, pg("25P04"), dialect.Lost},
		{"a statement that was stopped", dialect.MariaDB, my(1969), dialect.Blocked},
		{"a user's statement that was stopped", dialect.MariaDB, user(my(1969)), dialect.Other},
		{"a table changed since the snapshot", dialect.MariaDB, user(my(1412)), dialect.Again},
		{"a lock that is not waited for", dialect.MySQL, user(my(3572)), dialect.Blocked},
		{"a user with too many connections", dialect.MariaDB, my(1226), dialect.Lost},
		{"a race for the log", dialect.SQLite, lite(15, 15), dialect.Blocked},
		{"a typed nil", dialect.MariaDB, user((*quiet)(nil)), dialect.Other},
		{"a typed nil", dialect.SQLite, user((*quiet)(nil)), dialect.Other},
		{"our own", dialect.SQLite, fmt.Errorf("no receipt: %w", dialect.ErrAgain), dialect.Again},
	} {
		t.Run(string(c.d)+" "+c.name+" is "+c.want.String(), func(t *testing.T) {
			t.Parallel()
			for _, err := range []error{c.err, fmt.Errorf("read: %w", c.err)} {
				if got := c.d.Fault(err); c.err != nil && got != c.want {
					t.Errorf("%v is %s", err, got)
				}
			}
		})
	}
}
