package receipt_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/waybillhq/waybill/receipt"
)

// schema lists tables, columns and indexes.
func (s *stand) schema(t *testing.T) string {
	t.Helper()
	question := map[receipt.Dialect]string{
		receipt.PostgreSQL: "SELECT table_schema || ' ' || table_name || ' ' || column_name || ' ' || data_type || ' ' || is_nullable || coalesce(column_default, '') " +
			"FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema') " +
			"UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1",
		receipt.MariaDB: "SELECT concat_ws(' ', table_name, column_name, column_type, is_nullable, column_default) AS line " +
			"FROM information_schema.columns WHERE table_schema = database() " +
			"UNION ALL SELECT concat_ws(' ', table_name, index_name, seq_in_index, column_name) FROM information_schema.statistics " +
			"WHERE table_schema = database() ORDER BY 1",
		receipt.SQLite: "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY 1",
	}[s.Dialect]
	rows, err := s.db.QueryContext(t.Context(), question)
	must(t, err)
	defer rows.Close()
	var all []string
	for rows.Next() {
		var line string
		must(t, rows.Scan(&line))
		if !strings.Contains(line, "waybill_migration") {
			all = append(all, line)
		}
	}
	must(t, rows.Err())
	return strings.Join(all, "\n")
}

func (s *stand) migrate(t *testing.T, o receipt.Options) int {
	t.Helper()
	did, err := receipt.Migrate(t.Context(), s.db, s.dialect, o)
	must(t, err)
	return len(did)
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	for _, v := range databases() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			t.Run("a second time does nothing", func(t *testing.T) {
				s := v.bare(t, receipt.Options{})
				steps, err := receipt.Migrations(s.dialect, receipt.Options{})
				must(t, err)
				if n := s.migrate(t, receipt.Options{}); n != len(steps) {
					t.Errorf("did %d of %d steps", n, len(steps))
				}
				before := s.schema(t)
				if n := s.migrate(t, receipt.Options{}); n != 0 || s.schema(t) != before || len(before) < 500 {
					t.Errorf("did %d steps", n)
				}
			})
			t.Run("four at once succeed", v.atOnce)
			t.Run("by hand it is the same schema", v.byHand)
			t.Run("tables have other names", v.otherNames)
			t.Run("a newer database is told", v.newer)
		})
	}
}

func (v variant) atOnce(t *testing.T) {
	s := v.bare(t, receipt.Options{})
	var all sync.WaitGroup
	var errs [4]error
	var did [4][]receipt.Migration
	for i := range errs {
		db := s.Open(t)
		all.Go(func() { did[i], errs[i] = receipt.Migrate(t.Context(), db, s.dialect, receipt.Options{}) })
	}
	all.Wait()
	must(t, errors.Join(errs[:]...))
	if len(did[0])+len(did[1])+len(did[2])+len(did[3]) != s.count(t, "SELECT count(*) FROM waybill_migration") {
		t.Errorf("did %v", did)
	}
}

func (v variant) byHand(t *testing.T) {
	s, other := v.bare(t, receipt.Options{}), v.bare(t, receipt.Options{})
	s.migrate(t, receipt.Options{})
	steps, err := receipt.Migrations(s.dialect, receipt.Options{})
	must(t, err)
	for _, m := range steps {
		for _, statement := range m.Statements {
			other.run(t, statement)
		}
	}
	if got, want := other.schema(t), s.schema(t); got != want {
		t.Errorf("by hand:\n%s\nby Migrate:\n%s", got, want)
	}
}

func (v variant) otherNames(t *testing.T) {
	tables := []string{"jobs_"}
	if v.name[0] == 'p' {
		tables = append(tables, "jobs.waybill_", "jobs.")
	}
	s := v.bare(t, receipt.Options{})
	if v.name[0] == 'p' {
		s.run(t, "CREATE SCHEMA jobs")
	}
	s.run(t, "CREATE TABLE effect (n INTEGER NOT NULL)")
	for _, name := range tables {
		o := receipt.Options{Tables: name}
		if s.migrate(t, o) == 0 || s.migrate(t, o) != 0 {
			t.Errorf("%s: not migrated once", name)
		}
		s.receipts(t, o)
		for _, want := range []receipt.Outcome{receipt.Applied, receipt.Replayed} {
			if res, err := s.do(t.Context(), key("a"), adds(1)); err != nil || res.Outcome != want {
				t.Errorf("%s: %+v, %v", name, res, err)
			}
		}
		if s.count(t, "SELECT count(*) FROM "+name+"receipt") != 1 {
			t.Errorf("%s: the receipt is elsewhere", name)
		}
	}
}

func (v variant) newer(t *testing.T) {
	s := v.bare(t, receipt.Options{})
	s.migrate(t, receipt.Options{})
	s.run(t, "INSERT INTO waybill_migration (part, number, name) VALUES ('receipt', 99, 'later')")
	if _, err := receipt.Migrate(t.Context(), s.db, s.dialect, receipt.Options{}); err == nil || !strings.Contains(err.Error(), "at step 99") {
		t.Errorf("is %v", err)
	}
}

func TestStatements(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("*.go")
	must(t, err)
	var code strings.Builder
	for _, name := range sources {
		if !strings.HasSuffix(name, "_test.go") {
			text, err := os.ReadFile(name)
			must(t, err)
			code.Write(text)
		}
	}
	each(t, databases(), receipt.Options{}, func(t *testing.T, s *stand) {
		all := receipt.Statements(s.dialect, "waybill_")
		if len(all) < 15 {
			t.Fatalf("%d statements", len(all))
		}
		for name, text := range all {
			if !strings.Contains(code.String(), fmt.Sprintf("%q", name)) {
				t.Errorf("%s is used nowhere", name)
			}
			if prepared, err := s.db.PrepareContext(t.Context(), text); err != nil {
				t.Errorf("%s: %v", name, err)
			} else {
				defer prepared.Close()
			}
		}
	})
}
