package main_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/waybillhq/waybill"
	main "github.com/waybillhq/waybill/cmd/waybill"
	"github.com/waybillhq/waybill/internal/database"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
)

// scripted gives the receipts of a script's database and the key that it names.
func scripted(ts *testscript.TestScript, args []string) (r *receipt.Receipts, k receipt.Key, end func() error) {
	db, d, err := database.Open(context.Background(), "sqlite://"+args[0]+"/app.db")
	ts.Check(err)
	r, err = receipt.New(db, d, receipt.Options{})
	ts.Check(err)
	k = receipt.ForAttempt(&waybill.Attempt{
		ID: args[2], Queue: args[1], Kind: "pay", Payload: []byte("1"), Token: "token-1", DueAt: time.Now().Add(-40 * 24 * time.Hour),
	}, args[3])
	return r, k, db.Close
}

func effect(ts *testscript.TestScript, _ bool, args []string) {
	r, k, end := scripted(ts, args)
	_, err := receipt.DoResult(context.Background(), r, k, func(context.Context, *sql.Tx) (string, error) { return "17", nil })
	ts.Check(errors.Join(err, end()))
}

func unanswered(ts *testscript.TestScript, _ bool, args []string) {
	r, k, end := scripted(ts, args)
	o := receipt.Operation[int, string]{Request: 900, Send: func(context.Context, receipt.Call[int]) (string, error) {
		return "", errors.New("connection reset")
	}}
	if _, err := o.Do(context.Background(), r, k); !errors.Is(err, receipt.ErrUnanswered) {
		ts.Fatalf("%v", err)
	}
	ts.Check(end())
}

// On PostgreSQL, whose URL comes from the environment; no word of it is printed.
func TestReceipts_PostgreSQL(t *testing.T) {
	t.Parallel()
	s, d := redistest.Start(t), sqltest.Postgres(t)
	send(t, client(t, s), waybill.Request{Queue: "q", Kind: "k", ID: "id"})
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"receipts check q", 1, "bad tables there are none"},
		{"receipts show q id", 1, "no receipt tables: run receipt.Migrate, or waybill migrate"},
		{"migrate", 0, "receipts: step 1 (receipts) done"},
		{"migrate", 0, "nothing to do"},
		{"receipts check q", 1, "bad durability fsync = off"}, // as the server of the tests is
		{"receipts show q id", 9, "nothing at all is kept of that queue: check its name"},
		{"receipts show q id --database " + strings.Replace(d.URL, "postgres@", "nobody:s3cret@", 1), 5, "check user and password in its URL"},
		{"receipts show q id --database " + strings.Replace(d.URL, "?", "_not_there?", 1), 5, "check the name of the database in its URL"},
		{"receipts purge q --yes", 0, "queue q: 0 receipts, 0 operations purged"},
		{"receipts check q", 1, "ok purged what was born before 20"},
		{"receipts list q", 0, ""},
		{"receipts force q id --yes", 0, "id of queue q: forced; next: waybill job requeue q id"},
	} {
		var out, errs bytes.Buffer
		env := []string{"WAYBILL_REDIS=" + s.URL(), "WAYBILL_DATABASE=" + d.URL, "PATH=" + os.Getenv("PATH")}
		status := main.Run(strings.Fields(c.args), strings.NewReader(""), &out, &errs, env)
		both := strings.Join(strings.Fields(out.String()+errs.String()), " ")
		if status != c.status || !strings.Contains(both, c.says) || strings.Contains(both, "s3cret") || c.status != 5 && strings.Contains(both, "postgres:") {
			t.Errorf("%s: status %d\n%s", c.args, status, both)
		}
	}
}
