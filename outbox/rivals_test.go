package outbox_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

// holder is a transaction that entered a job, and is to be ended.
func (s *stand) holder(level sql.IsolationLevel, r waybill.Request) *sql.Tx {
	s.t.Helper()
	tx, err := s.db.BeginTx(s.t.Context(), &sql.TxOptions{Isolation: level})
	if err == nil {
		err = s.box.Enqueue(s.t.Context(), tx, r)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return tx
}

// second enters a job in a transaction of its own, which first looks at the table: so it has a snapshot. Where it is to be
// run again, it is.
func (s *stand) second(level sql.IsolationLevel, r waybill.Request, looked chan<- struct{}) (out []waybill.Enqueued, err error) {
	for range 5 {
		var tx *sql.Tx
		if tx, err = s.db.BeginTx(s.t.Context(), &sql.TxOptions{Isolation: level}); err != nil {
			return nil, err
		}
		if s.d.Driver != "mysql" || level != sql.LevelSerializable { // there it would wait
			var n int
			err = tx.QueryRowContext(s.t.Context(), "SELECT count(*) FROM waybill_outbox").Scan(&n)
		}
		if looked != nil {
			close(looked)
			looked = nil
		}
		if err == nil {
			out, err = s.box.EnqueueMany(s.t.Context(), tx, []waybill.Request{r})
		}
		if errors.Is(err, outbox.ErrRetry) {
			continue // it is rolled back
		}
		if committed := tx.Commit(); committed != nil {
			return out, committed
		}
		return out, err
	}
	return out, err
}

func TestOutbox_Enqueue_rivals(t *testing.T) {
	t.Parallel()
	databases := map[string]func(testing.TB) *sqltest.Database{
		"postgresql": sqltest.Postgres, "mariadb": sqltest.MariaDB,
		"mariadb found rows": func(t testing.TB) *sqltest.Database { return sqltest.MariaDB(t).With("clientFoundRows", "true") },
		"mysql's dialect": func(t testing.TB) *sqltest.Database {
			d := *sqltest.MariaDB(t)
			d.Dialect = outbox.MySQL
			return &d
		},
	}
	for name, give := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, give(t), outbox.Options{})
			for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable} {
				t.Run(level.String(), func(t *testing.T) { s.rivals(t, level) })
			}
			t.Run("an answer does not go by affected rows", func(t *testing.T) {
				out, err := s.many(request("x"), request("y"))
				if outcomes(out) != "accepted accepted" {
					t.Error(outcomes(out), err)
				}
				if out, err = s.many(request("x"), other(request("y")), request("z")); outcomes(out) != "duplicate conflict accepted" {
					t.Error(outcomes(out), err)
				}
			})
		})
	}
}

// rivals lets a second transaction enter what a first one has entered and not ended yet.
func (s *stand) rivals(t *testing.T, level sql.IsolationLevel) {
	for _, c := range []struct {
		name   string
		end    func(*sql.Tx) error
		second func(waybill.Request) waybill.Request
		want   waybill.Outcome
	}{
		{"the first commits, the second is a duplicate", (*sql.Tx).Commit, func(r waybill.Request) waybill.Request { return r }, waybill.OutcomeDuplicate},
		{"the first commits, other work is a conflict", (*sql.Tx).Commit, other, waybill.OutcomeConflict},
		{"the first is rolled back, the second is accepted", (*sql.Tx).Rollback, other, waybill.OutcomeAccepted},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := request("id-" + string(c.want) + "-" + level.String()[:4])
			first := s.holder(sql.LevelReadCommitted, r)
			type answer struct {
				out []waybill.Enqueued
				err error
			}
			answers, looked := make(chan answer, 1), make(chan struct{})
			go func() {
				out, err := s.second(level, c.second(r), looked)
				answers <- answer{out, err}
			}()
			<-looked
			select {
			case a := <-answers:
				t.Fatalf("the second did not wait: %+v", a)
			case <-time.After(50 * time.Millisecond):
			}
			if err := c.end(first); err != nil {
				t.Fatal(err)
			}
			a := <-answers
			if len(a.out) != 1 || a.out[0].Outcome != c.want {
				t.Errorf("%+v, not %s", a, c.want)
			}
		})
	}
}

func TestOutbox_Enqueue_swallowed(t *testing.T) {
	t.Parallel()
	for _, dialect := range []outbox.Dialect{outbox.MariaDB, outbox.PostgreSQL} {
		t.Run(string(dialect)+": after an error that was ignored nothing is entered", func(t *testing.T) {
			t.Parallel()
			d := sqltest.Postgres(t)
			if dialect == outbox.MariaDB {
				d = sqltest.MariaDB(t)
			}
			s := newStand(t, d, outbox.Options{})
			tx, err := s.db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if dialect == outbox.MariaDB {
				_, err = tx.ExecContext(t.Context(), "ROLLBACK") // as a deadlock ends it
			} else if _, err = tx.ExecContext(t.Context(), "SELECT 1/0"); err != nil {
				err = nil // ignored
			}
			if err != nil {
				t.Fatal(err)
			}
			err = s.box.Enqueue(t.Context(), tx, request("a"))
			_ = tx.Commit()
			if dialect == outbox.MariaDB && !(errors.Is(err, outbox.ErrNotInTransaction) && errors.Is(err, outbox.ErrRetry)) || err == nil {
				t.Errorf("is %v", err)
			}
			if n := s.rows().New; n != 0 {
				t.Errorf("%d rows", n)
			}
		})
	}
}
