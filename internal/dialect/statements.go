package dialect

import (
	"io/fs"
	"path"
	"strings"
)

// nowMS stands in a statement for the database's clock, in milliseconds since 1970.
const nowMS = "NOW_MS"

func (d Dialect) now() string {
	return map[string]string{
		string(PostgreSQL): "(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
		string(MariaDB):    "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)",
		string(SQLite):     "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
	}[d.Family()]
}

// Statements reads the texts of a dialect's statements from dir/family/*.sql, by the names of the files without their end:
// without comments, with the tables' names and the clock filled in. It panics where they are not there: they are embedded.
func (d Dialect) Statements(files fs.FS, dir, tables string) map[string]string {
	dir = path.Join(dir, d.Family())
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		panic(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".sql"); ok {
			text, err := fs.ReadFile(files, path.Join(dir, e.Name()))
			if err != nil {
				panic(err)
			}
			all[name] = strings.ReplaceAll(Fill(uncommented(string(text)), tables), nowMS, d.now())
		}
	}
	return all
}

func uncommented(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.TrimSpace(strings.Join(lines, " "))
}
