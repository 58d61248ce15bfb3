package receipt_test

import (
	"flag"
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
)

// TestMain runs the tests, or is the process of another attempt: see frozen_test.go.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(child())
	}
	flag.Parse()
	// They wait, for idle timeouts and for locks, much more than they work.
	if err := flag.Set("test.parallel", "10"); err != nil {
		panic(err)
	}
	if err := mysql.SetLogger(&mysql.NopLogger{}); err != nil { // connections are lost on purpose
		panic(err)
	}
	redistest.Main(sqltest.Ending(m))
}
