// Package sqltest gives tests SQL databases of their own. It is imported by tests only.
package sqltest

import (
	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
)
