package receipt_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
)

// At the end of summer time MariaDB's local time passes an hour twice. The operation's clock passes it once.
func TestOperation_SummerTimeEnds(t *testing.T) {
	t.Parallel()
	d := sqltest.MariaDB(t)
	w := newOpWorld(t, d, receipt.Options{})
	for _, statement := range []string{ // from 1761440400, which is 2025-10-26 01:00 UTC, an hour less than before
		"INSERT INTO mysql.time_zone (Time_zone_id, Use_leap_seconds) VALUES (7001, 'N')",
		"INSERT INTO mysql.time_zone_name VALUES ('Test/Waybill', 7001)",
		"INSERT INTO mysql.time_zone_transition_type VALUES (7001, 0, 3600, 0, 'CET'), (7001, 1, 7200, 1, 'CEST')",
		"INSERT INTO mysql.time_zone_transition VALUES (7001, 1743296400, 1), (7001, 1761440400, 0)",
	} {
		w.exec(statement)
	}
	at := func(seconds string) *opWorld {
		db := d.With("time_zone", "'Test/Waybill'").With("timestamp", seconds).Open(t)
		r, err := receipt.New(db, d.Dialect, receipt.Options{})
		must(t, err)
		return &opWorld{t, d, db, r}
	}
	_, _, err := at("1761438600").try(operation{KeyTTL: time.Hour, Send: says(errBroken)}, attempt("job", "a"))
	wantEnd(t, err, errBroken, waybill.AttemptRetry)
	_, _, err = at("1761442800").try(operation{KeyTTL: time.Hour, Send: neverSent(t)}, attempt("job", "b")) // 70 minutes later
	wantEnd(t, err, receipt.ErrKeyExpired, waybill.AttemptDead)
}
