package outbox_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

// hot are the statements that a relay runs again and again, with arguments.
func hot(d outbox.Dialect) map[string][]any {
	seqs, ids := []int64{5, 7, 40_000}, []string{"id5", "id7", "id40000"}
	all := map[string][]any{
		"waiting": nil, "claim": {"q", 1000}, "bodies": {seqs}, "sent": {seqs}, "aside": {"why", 5}, "rows": {"q", ids},
		"known": {"q", ids}, "existing": {"q", ids}, "end": {2, seqs}, "live": {seqs}, "lag": nil, "purge": {0},
	}
	if d.Family() == string(outbox.MariaDB) {
		all["purge"], all["waiting"] = []any{2, 0}, []any{""}
	}
	return all
}

// Many rows have ended, and some of one queue are new. A claim of the other queue, and all else, goes by an index.
func TestStatements_plans(t *testing.T) {
	t.Parallel()
	const many = 50_000
	numbers := fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", many)
	const columns = "(q, id, fp, body, born, at_ms, state, ended_ms)"
	insert := map[outbox.Dialect]string{
		outbox.PostgreSQL: numbers + "INSERT INTO waybill_outbox " + columns + " SELECT CASE WHEN i % 10 = 0 THEN 'r' ELSE 'q' END, " +
			"'id' || i, '\\x61', '\\x61', 1, 1, CASE WHEN i % 10 = 0 AND i < 10000 THEN 0 ELSE 2 END, 1000 FROM n",
		outbox.SQLite: numbers + "INSERT INTO waybill_outbox " + columns + " SELECT CASE WHEN i % 10 = 0 THEN 'r' ELSE 'q' END, " +
			"'id' || i, 'a', 'a', 1, 1, CASE WHEN i % 10 = 0 AND i < 10000 THEN 0 ELSE 2 END, 1000 FROM n",
		outbox.MariaDB: "INSERT INTO waybill_outbox (q, id, fp, body, born, at_ms, state, ended_ms, entry) " + numbers +
			"SELECT IF(i % 10 = 0, 'r', 'q'), concat('id', i), 'a', 'a', 1, 1, IF(i % 10 = 0 AND i < 10000, 0, 2), 1000, '' FROM n",
	}
	bad := map[outbox.Dialect]*regexp.Regexp{
		outbox.PostgreSQL: regexp.MustCompile(`Seq Scan on waybill_outbox\b`),
		outbox.SQLite:     regexp.MustCompile(`SCAN (TABLE )?(waybill_outbox|c|e|o)( USING COVERING INDEX sqlite_auto|$)`),
		outbox.MariaDB:    regexp.MustCompile(`(^|\n)[^\n]*\t(waybill_outbox|c|e)\t[^\n]*ALL\t`),
	}
	for name, give := range map[string]func(testing.TB) *sqltest.Database{
		"postgresql": sqltest.Postgres, "mariadb": sqltest.MariaDB, "sqlite": sqltest.SQLite,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, give(t), outbox.Options{})
			s.db.SetMaxOpenConns(1)
			d := s.d.Dialect
			exec := func(text string) {
				t.Helper()
				if _, err := s.db.ExecContext(t.Context(), text); err != nil {
					t.Fatal(err)
				}
			}
			if d == outbox.MariaDB {
				exec("SET SESSION max_recursive_iterations = 1000000")
			}
			exec(insert[d])
			exec(map[outbox.Dialect]string{
				outbox.PostgreSQL: "ANALYZE waybill_outbox", outbox.SQLite: "ANALYZE", outbox.MariaDB: "ANALYZE TABLE waybill_outbox",
			}[d])
			for name, args := range hot(d) {
				text, args := outbox.Statement(s.box, name, args...)
				for _, plan := range s.plans(t, name, text, args) {
					if bad[d].MatchString(plan) {
						t.Errorf("%s reads the whole table:\n%s\n%s", name, text, plan)
					}
					t.Logf("%s:\n%s", name, plan)
				}
			}
		})
	}
}

// plans are how the database would run a statement: on PostgreSQL with and without knowing the arguments.
func (s *stand) plans(t *testing.T, name, text string, args []any) (all []string) {
	t.Helper()
	if s.d.Dialect != outbox.PostgreSQL {
		return []string{s.explain(t, "EXPLAIN "+map[bool]string{true: "QUERY PLAN "}[s.d.Dialect == outbox.SQLite]+text, args)}
	}
	var literals []string
	for _, a := range args {
		literals = append(literals, "'"+fmt.Sprint(a)+"'")
	}
	given := ""
	if len(literals) > 0 {
		given = "(" + strings.Join(literals, ", ") + ")"
	}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		for _, statement := range []string{"SET plan_cache_mode = " + mode, "PREPARE p_" + name + mode + " AS " + text} {
			if _, err := s.db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, mode+"\n"+s.explain(t, "EXPLAIN EXECUTE p_"+name+mode+given, nil))
	}
	return all
}

func (s *stand) explain(t *testing.T, text string, args []any) string {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), text, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var plan strings.Builder
	for rows.Next() {
		fields := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range fields {
			into[i] = &fields[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, f := range fields {
			if i > 0 {
				plan.WriteByte('\t')
			}
			plan.WriteString(f.String)
		}
		plan.WriteByte('\n')
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
