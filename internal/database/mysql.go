package database

import (
	"context"
	"database/sql"
	"net"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/waybillhq/waybill/internal/dialect"
)

const defaultMySQLPort = "3306"

func openMySQL(u *url.URL) (*sql.DB, error) {
	name := strings.TrimPrefix(u.Path, "/")
	if name == "" {
		return nil, errDatabase
	}
	socket := u.Query().Get("socket")
	if u.Hostname() == "" && socket == "" {
		return nil, errHost
	}
	// The driver reads its own parameters: it alone knows their types.
	config, err := mysql.ParseDSN("/?" + without(u.RawQuery, "socket"))
	if err != nil {
		return nil, err
	}
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.DBName = name
	config.Net, config.Addr = "unix", socket
	if socket == "" {
		config.Net, config.Addr = "tcp", hostPort(u)
	}
	config.ParseTime = true
	config.Logger = &mysql.NopLogger{} // what it would print is returned as an error too
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = defaultMySQLPort
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// without returns a query without one parameter, and the others as they were written.
func without(query, name string) string {
	var rest []string
	for pair := range strings.SplitSeq(query, "&") {
		if key, _, _ := strings.Cut(pair, "="); key != name && pair != "" {
			rest = append(rest, pair)
		}
	}
	return strings.Join(rest, "&")
}

// askMySQL goes by what the server says: a mysql:// URL may lead to MariaDB, and the other way round.
func askMySQL(ctx context.Context, db *sql.DB) (dialect.Dialect, error) {
	var version string
	if err := db.QueryRowContext(ctx, "SELECT version()").Scan(&version); err != nil {
		return "", err
	}
	if strings.Contains(strings.ToLower(version), "mariadb") {
		return dialect.MariaDB, nil
	}
	return dialect.MySQL, nil
}
