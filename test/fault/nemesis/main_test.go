package nemesis_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/test/internal/program"
)

// actor is the path of the program that is killed.
var actor string

func TestMain(m *testing.M) {
	redistest.Main(sqltest.Ending(program.Built{M: m, Source: "../actor", Binary: &actor, Parallel: 1}))
}
