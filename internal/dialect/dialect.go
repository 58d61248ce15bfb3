// Package dialect is what differs between the SQL databases that receipts and the outbox live in. It knows their
// drivers' errors without importing a driver.
package dialect

import "fmt"

// Dialect is a kind of SQL database. The zero value is none.
type Dialect string

// The dialects. MySQL is that part of MariaDB which MySQL 8 has too; it was only run on MariaDB.
const (
	PostgreSQL Dialect = "postgresql"
	MariaDB    Dialect = "mariadb"
	MySQL      Dialect = "mysql"
	SQLite     Dialect = "sqlite"
)

// All gives every dialect.
func All() []Dialect { return []Dialect{PostgreSQL, MariaDB, MySQL, SQLite} }

// Check says whether the dialect is a known one.
func (d Dialect) Check() error {
	for _, known := range All() {
		if d == known {
			return nil
		}
	}
	return fmt.Errorf("dialect %q: one of %v", d, All())
}

// Family is the directory of the statements: MariaDB and MySQL share theirs.
func (d Dialect) Family() string {
	if d == MySQL {
		return string(MariaDB)
	}
	return string(d)
}
