package receipt_test

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
)

// Eight attempts at once of each of some jobs: one effect a job, and everybody gets the answer, at every level.
func TestOperation_Isolation(t *testing.T) {
	t.Parallel()
	const jobs, attempts = 3, 8
	levels := []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}
	for name, give := range map[string]func(testing.TB) *sqltest.Database{
		"postgresql": sqltest.Postgres,
		"mariadb":    sqltest.MariaDB,
		"mariadb that counts found rows": func(t testing.TB) *sqltest.Database {
			return sqltest.MariaDB(t).With("clientFoundRows", "true")
		},
	} {
		for _, level := range levels {
			t.Run(fmt.Sprintf("%s, %s", name, level), func(t *testing.T) {
				w := newOpWorld(t, give(t), receipt.Options{Isolation: level})
				outcomes := make(chan string, jobs*attempts)
				for i := range cap(outcomes) {
					go func() {
						o := operation{KeyTTL: time.Hour, Record: add, Send: says(nil)}
						got, err := o.Do(t.Context(), w.r, attempt(fmt.Sprint("job-", i%jobs), fmt.Sprint("token-", i)))
						outcomes <- fmt.Sprint(got.Outcome, err)
					}()
				}
				var all []string
				for range cap(outcomes) {
					all = append(all, <-outcomes)
				}
				slices.Sort(all)
				if all[jobs-1] != "applied<nil>" || all[jobs] != "replayed<nil>" || all[len(all)-1] != "replayed<nil>" {
					t.Errorf("outcomes %v", all)
				}
				w.wantTotal(10 * jobs)
				if c := w.r.Counts(); c.Applied != jobs || c.Replayed != jobs*(attempts-1) || c.Failed != 0 {
					t.Errorf("counts %+v", c)
				}
			})
		}
	}
}
