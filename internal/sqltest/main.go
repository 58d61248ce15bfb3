package sqltest

import (
	"fmt"
	"os"

	"github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"github.com/waybillhq/waybill/internal/devsql"
)

// Runner is a [testing.M], or what wraps one.
type Runner interface{ Run() int }

// Main runs the tests, ends the shared servers and exits. If the tests passed, it first fails on goroutines that are
// still running. Use it as
//
//	func TestMain(m *testing.M) { sqltest.Main(m) }
func Main(m Runner) {
	code := Ending(m).Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintf(os.Stderr, "sqltest: goroutines outlive the tests: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

// Ending wraps a Runner so that the shared servers end after its tests. It is for packages that test with Redis too:
//
//	func TestMain(m *testing.M) { redistest.Main(sqltest.Ending(m)) }
func Ending(m Runner) Runner { return ending{m} }

type ending struct{ Runner }

func (e ending) Run() int {
	_ = mysql.SetLogger(&mysql.NopLogger{}) // it fails on nil only; tests kill connections, and what comes of it is returned too
	code := e.Runner.Run()
	for _, o := range []*one{&sharedPostgres, &sharedMariaDB} {
		if err := end(o.server); err != nil {
			fmt.Fprintf(os.Stderr, "sqltest: %v\n", err)
			code = max(code, 1)
		}
	}
	return code
}

func end(s *devsql.Server) error {
	if s == nil {
		return nil
	}
	return s.Close()
}
