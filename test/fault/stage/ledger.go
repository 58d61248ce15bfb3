package stage

import (
	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/receipt"
)

// openDatabase makes the tables: receipts, the outbox, and the effects, which have no unique key, so that what is done twice is
// there twice.
func (s *Stage) openDatabase() {
	s.Helper()
	s.DB = s.Database.Open(s)
	s.DB.SetMaxIdleConns(4)
	_, err := receipt.Migrate(s.Context(), s.DB, s.Database.Dialect, receipt.Options{})
	s.Must(err)
	_, err = outbox.Migrate(s.Context(), s.DB, s.Database.Dialect, outbox.Options{})
	s.Must(err)
	_, err = s.DB.ExecContext(s.Context(),
		"CREATE TABLE effect (scope VARCHAR(190) NOT NULL, job VARCHAR(190) NOT NULL, token VARCHAR(128) NOT NULL)")
	s.Must(err)
}

// ledger writes what the database holds into the history.
func (s *Stage) ledger() {
	s.Helper()
	if s.DB == nil {
		return
	}
	for queue := range s.worked {
		s.History.Write(history.Event{Op: history.OpLedger, Queue: queue})
	}
	key := "key"
	for op, query := range map[history.Op]string{
		history.OpEffect:  "SELECT scope, job, token FROM effect",
		history.OpReceipt: "SELECT scope, " + key + ", token FROM waybill_receipt",
	} {
		rows, err := s.DB.QueryContext(s.Context(), query)
		s.Must(err)
		defer rows.Close()
		for rows.Next() {
			e := history.Event{Op: op}
			s.Must(rows.Scan(&e.Queue, &e.Job, &e.Token))
			s.History.Write(e)
		}
		s.Must(rows.Err())
	}
}
