package sqltest

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/devsql"
	"github.com/waybillhq/waybill/internal/dialect"
)

// startTimeout bounds a start, and the making of a database. It is long because CI machines are slow; a start takes
// about two seconds.
const startTimeout = 180 * time.Second

// one is a server of this test binary. It belongs to no single test.
type one struct {
	dialect dialect.Dialect
	once    sync.Once
	server  *devsql.Server
	err     error
}

var (
	sharedPostgres = one{dialect: dialect.PostgreSQL}
	sharedMariaDB  = one{dialect: dialect.MariaDB}
)

// Postgres gives a database of the shared PostgreSQL server.
func Postgres(t testing.TB) *Database {
	t.Helper()
	return On(t, sharedPostgres.get(t))
}

// MariaDB gives a database of the shared MariaDB server.
func MariaDB(t testing.TB) *Database {
	t.Helper()
	return On(t, sharedMariaDB.get(t))
}

func (o *one) get(t testing.TB) *devsql.Server {
	t.Helper()
	require(t, o.dialect)
	o.once.Do(func() {
		// The server outlives the test that starts it.
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		o.server, o.err = devsql.Start(ctx, o.dialect, devsql.Options{NoSync: true})
	})
	if o.err != nil {
		t.Fatalf("sqltest: the shared server: %v", o.err)
	}
	return o.server
}

// Start starts a server for this test alone and ends it when the test ends.
func Start(t testing.TB, d dialect.Dialect, o devsql.Options) *devsql.Server {
	t.Helper()
	require(t, d)
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	s, err := devsql.Start(ctx, d, o)
	if err != nil {
		t.Fatalf("sqltest: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("sqltest: last output of %s:\n%s", d, s.Output())
		}
		if err := s.Close(); err != nil {
			t.Errorf("sqltest: %v", err)
		}
	})
	return s
}

// On gives an empty database of a server. It is dropped when the test ends.
func On(t testing.TB, s *devsql.Server) *Database {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	name, err := s.NewDatabase(ctx)
	if err != nil {
		t.Fatalf("sqltest: %v\nlast output of the server:\n%s", err, s.Output())
	}
	t.Cleanup(func() {
		// It only saves space: a test may have killed the server, or left a frozen transaction behind.
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.DropDatabase(ctx, name)
	})
	return &Database{Dialect: s.Dialect(), URL: s.URL(name), Driver: s.Driver(), DSN: s.DSN(name)}
}

const missing = `

    ****************************************************************
    *  NO DATABASE: this test did not run.                         *
    *  It needs PostgreSQL's server (initdb, postgres) and         *
    *  MariaDB's (mariadbd, mariadb-install-db). On Debian and     *
    *  Ubuntu scripts/install-databases.sh installs them.          *
    ****************************************************************
    missing: `

const noCgo = `

    ****************************************************************
    *  NO CGO: this test did not run.                              *
    *  The SQLite driver mattn/go-sqlite3 needs a C compiler (gcc) *
    *  and CGO_ENABLED=1.                                          *
    ****************************************************************
`

// require skips the test where the server is not installed, or fails it when the environment variable CI is set.
func require(t testing.TB, d dialect.Dialect) {
	t.Helper()
	if _, ok := devsql.Find(d); !ok {
		absent(t, d)
	}
}

func absent(t testing.TB, d dialect.Dialect) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(missing + string(d))
	}
	t.Skip(missing + string(d))
}
