package effects_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/test/internal/program"
)

// binary is the path of the built worker.
var binary string

func TestMain(m *testing.M) {
	redistest.Main(sqltest.Ending(program.Built{M: m, Source: "./worker", Binary: &binary, Parallel: 8}))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
