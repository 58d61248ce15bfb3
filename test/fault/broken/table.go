package broken

import (
	"errors"
	"fmt"
	"strings"
)

// Marks between which a document holds the table.
const (
	Begin = "<!-- broken: begin -->\n"
	End   = "<!-- broken: end -->\n"
)

// ErrNoMarks says that a document has no place for the table.
var ErrNoMarks = errors.New("the marks of the table are not there")

// Table is all faults, in Markdown: what each breaks, and what catches it.
func Table() string {
	var b strings.Builder
	b.WriteString("| Fault | What it does | Caught by |\n| --- | --- | --- |\n")
	for _, f := range All() {
		cells := make([]string, len(f.Caught))
		for i, c := range f.Caught {
			cells[i] = c.String()
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, f.Breaks, strings.Join(cells, "; "))
	}
	return b.String()
}

// Put gives a document with the table in its place. Errors: ErrNoMarks.
func Put(document string) (string, error) {
	before, rest, begins := strings.Cut(document, Begin)
	_, after, ends := strings.Cut(rest, End)
	if !begins || !ends {
		return "", ErrNoMarks
	}
	return before + Begin + "\n" + Table() + "\n" + End + after, nil
}

// String is the cell as people read it, in Markdown.
func (c Cell) String() string {
	size := ""
	if c.Size != "" {
		size = " `WAYBILL_FAULTS=" + c.Size + "`"
	}
	run := strings.NewReplacer("^", "", "$", "", `\`, "").Replace(c.Run)
	return fmt.Sprintf("%s, `%s` `%s`%s", c.Tier, c.Package, run, size)
}
