package devsql

import (
	"database/sql"
	"net/url"
	"path/filepath"
	"syscall"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/waybillhq/waybill/internal/dialect"
)

// engine is what differs between the servers. Directories are absolute.
type engine struct {
	account string // that root starts it as
	admin   string // a database that is there from the start
	driver  string // its name in database/sql

	install func(data string) []string // arguments
	serve   func(dir, data string, noSync bool) []string
	setting func(nameValue string) []string
	dsn     func(dir, database string) string
	url     func(dir, database string) string
	open    func(dsn string) (*sql.DB, error)

	stop, kill syscall.Signal
	create     string // before the name
	drop       string // before the name
	dropForce  string // after it
}

// max_connections of both, for tests with many workers.
const maxConnections = "200"

func engineOf(d dialect.Dialect) engine {
	if d == dialect.PostgreSQL {
		return postgres()
	}
	return mariadb()
}

const postgresPort = "5432" // names the socket's file; nothing listens on a port

func postgres() engine {
	address := func(dir, database string) string {
		query := url.Values{"host": {dir}, "port": {postgresPort}, "sslmode": {"disable"}}
		return (&url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/" + database, RawQuery: query.Encode()}).String()
	}
	return engine{
		account: "postgres", admin: "postgres", driver: "pgx",
		install: func(data string) []string {
			return []string{
				"-D", data, "-U", "postgres", "-A", "trust", "--encoding=UTF8", "--locale=C",
				"--no-sync", "--no-instructions",
			}
		},
		serve: func(dir, data string, noSync bool) []string {
			args := []string{
				"-D", data, "-k", dir, "-p", postgresPort, "-c", "listen_addresses=",
				"-c", "max_connections=" + maxConnections,
				// What a killed server left in /dev/shm would stay.
				"-c", "dynamic_shared_memory_type=mmap",
			}
			if noSync {
				args = append(args, "-c", "fsync=off", "-c", "full_page_writes=off")
			}
			return args
		},
		setting: func(nameValue string) []string { return []string{"-c", nameValue} },
		dsn:     address,
		url:     address,
		open:    func(dsn string) (*sql.DB, error) { return sql.Open("pgx", dsn) },
		// SIGTERM would wait for the clients. SIGQUIT is what a crash is for the data, and yet gives the segment of
		// shared memory back, which SIGKILL leaves in the system.
		stop: syscall.SIGINT, kill: syscall.SIGQUIT,
		create: "CREATE DATABASE ", drop: "DROP DATABASE IF EXISTS ", dropForce: " WITH (FORCE)",
	}
}

func mariadb() engine {
	socket := func(dir string) string { return filepath.Join(dir, "s") }
	return engine{
		account: "mysql", admin: "mysql", driver: "mysql",
		install: func(data string) []string {
			return []string{
				// A server that starts removes what others have in a temporary directory that they share.
				"--no-defaults", "--datadir=" + data, "--tmpdir=" + filepath.Dir(data), "--auth-root-authentication-method=normal",
				"--skip-test-db", "--skip-name-resolve", "--innodb-flush-method=nosync",
			}
		},
		serve: func(dir, data string, noSync bool) []string {
			args := []string{
				"--no-defaults", "--datadir=" + data, "--socket=" + socket(dir), "--pid-file=" + filepath.Join(dir, "pid"),
				"--tmpdir=" + dir, "--skip-networking", "--skip-name-resolve", "--max-connections=" + maxConnections,
				// As in Debian's configuration; what is built in is latin1.
				"--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci",
			}
			if noSync {
				args = append(args, "--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=nosync", "--innodb-doublewrite=0")
			}
			return args
		},
		setting: func(nameValue string) []string { return []string{"--" + nameValue} },
		dsn: func(dir, database string) string {
			return "root@unix(" + socket(dir) + ")/" + database + "?parseTime=true"
		},
		url: func(dir, database string) string {
			query := url.Values{"socket": {socket(dir)}}
			return (&url.URL{Scheme: "mariadb", User: url.User("root"), Path: "/" + database, RawQuery: query.Encode()}).String()
		},
		open: openQuietly,
		stop: syscall.SIGTERM, kill: syscall.SIGKILL,
		create: "CREATE DATABASE ", drop: "SET STATEMENT lock_wait_timeout=1 FOR DROP DATABASE IF EXISTS ",
	}
}

// openQuietly keeps the driver from printing the errors that a server makes while it starts.
func openQuietly(dsn string) (*sql.DB, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	config.Logger = &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}
