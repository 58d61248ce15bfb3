package receipt

import (
	"embed"
	"io/fs"
	"path"
	"strings"

	"github.com/waybillhq/waybill/internal/dialect"
)

//go:embed sql
var files embed.FS

const defaultTables = "waybill_"

// statements are the texts of a dialect's statements, by the name of their file.
type statements map[string]string

func statementsOf(d Dialect, tables string) statements {
	dir := path.Join("sql", d.Family())
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		panic(err) // it is embedded
	}
	all := statements{}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".sql"); ok {
			text, err := fs.ReadFile(files, path.Join(dir, e.Name()))
			if err != nil {
				panic(err)
			}
			all[name] = named(string(text), tables)
		}
	}
	return all
}

// named puts the tables' names into a statement, and takes its comments out.
func named(text, tables string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return dialect.Fill(strings.TrimSpace(strings.Join(lines, " ")), tables)
}
