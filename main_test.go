package waybill_test

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/waybillhq/waybill/internal/redistest"
)

func TestMain(m *testing.M) {
	logging.Disable() // servers are killed here; what comes of it is returned too
	redistest.Main(m)
}
