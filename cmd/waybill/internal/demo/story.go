package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// story prints what happens, a paragraph a step, wrapped to the width. Steps have their names in a column of their own.
type story struct {
	out    io.Writer
	live   bool                // lines may be rewritten in place
	width  func() int          // of a line; 0 = unknown
	bold   func(string) string // how names are shown
	broken func(error)         // is told when nobody can read the story any more
	once   sync.Once
}

const (
	nameWide  = 11  // the column of the names
	usual     = 100 // width where it is not known
	mostWide  = 110 // wider lines are hard to read
	leastText = 16  // of a line beside the names
	clearLine = "\r\x1b[K"
)

func (s *story) columns() int {
	w := usual
	if s.width != nil && s.width() > 0 {
		w = s.width()
	}
	return min(w, mostWide)
}

// step prints one paragraph; a name of "" goes on with the one before.
func (s *story) step(name, format string, args ...any) {
	var b strings.Builder
	head := name + strings.Repeat(" ", max(0, nameWide-utf8.RuneCountInString(name)))
	for i, line := range wrap(fmt.Sprintf(format, args...), max(leastText, s.columns()-1-nameWide)) {
		if i == 0 && name != "" {
			b.WriteString(s.bold(name) + head[len(name):])
		} else {
			b.WriteString(strings.Repeat(" ", nameWide))
		}
		b.WriteString(line + "\n")
	}
	s.print(b.String())
}

// progress shows how far things are: in place on a terminal, elsewhere on a line of its own.
func (s *story) progress(text string) {
	line := []rune(strings.Repeat(" ", nameWide) + text)
	if room := max(1, s.columns()-1); len(line) > room {
		line = []rune(text)
		line = line[:min(len(line), room)]
	}
	if s.live {
		s.print(clearLine + string(line))
	} else {
		s.print(string(line) + "\n")
	}
}

// wipe takes the line of progress away.
func (s *story) wipe() {
	if s.live {
		s.print(clearLine)
	}
}

func (s *story) print(text string) {
	if _, err := io.WriteString(s.out, text); err != nil {
		s.once.Do(func() { s.broken(err) })
	}
}

// wrap breaks a text at its spaces. A word that is longer than a line stays whole.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
