package receipt_test

import (
	"os"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/devsql"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
)

// In autumn local time has one hour twice. The database's clock is to be that of the world in both.
func TestClockInTheDoubledHour(t *testing.T) {
	if _, err := os.Stat("/usr/share/zoneinfo/Europe/Berlin"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no time zones are installed")
		}
		t.Skip("NO time zones are installed: the doubled hour was NOT tested")
	}
	t.Setenv("TZ", "Europe/Berlin")
	d := sqltest.On(t, sqltest.Start(t, receipt.MariaDB, devsql.Options{NoSync: true}))
	db := d.Open(t)
	db.SetMaxOpenConns(1)
	for _, at := range []time.Time{time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC), time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC)} {
		_, err := db.ExecContext(t.Context(), "SET timestamp = ?", at.Unix())
		must(t, err)
		var local string
		var ms int64
		must(t, db.QueryRowContext(t.Context(), "SELECT CAST(NOW() AS CHAR)").Scan(&local))
		if local != "2026-10-25 02:30:00" {
			t.Fatal("the server is not in that zone: ", local)
		}
		must(t, db.QueryRowContext(t.Context(), receipt.Statements(receipt.MariaDB, "waybill_")["now"]).Scan(&ms))
		if ms != at.UnixMilli() {
			t.Errorf("%s is %s", at, time.UnixMilli(ms).UTC())
		}
	}
}
