package main

import (
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// shared is a writer for several goroutines: a write arrives in one piece.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// isTerminal tells whether people read what is written: a character device that is not the null device.
func isTerminal(w io.Writer) bool {
	if s, ok := w.(*shared); ok {
		w = s.w
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// Colours, as a terminal understands them.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// clearLine goes to the begin of the terminal's line and wipes it.
const clearLine = "\r\x1b[K"

// paint colours a text for a terminal, unless NO_COLOR is set (https://no-color.org).
func (a *app) paint(w io.Writer, colour, text string) string {
	if colour == "" || text == "" || a.getenv("NO_COLOR") != "" || a.getenv("TERM") == "dumb" || !isTerminal(w) {
		return text
	}
	return colour + text + plain
}

// cell is one field of a table.
type cell struct{ text, colour string }

// printRows prints rows in aligned columns, two spaces between them, without trailing space.
// Columns whose cells are all numbers are aligned to the right.
func (a *app) printRows(rows [][]cell) error {
	widths, right := measure(rows)
	var b strings.Builder
	for _, row := range rows {
		for i, c := range row {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text))
			text := a.paint(a.stdout, c.colour, c.text)
			switch {
			case right[i]:
				text = gap + text
			case i < len(row)-1:
				text += gap
			}
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(text)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(a.stdout, b.String())
	return err
}

// measure gives the width of each column, and which ones hold numbers below their head.
func measure(rows [][]cell) (widths []int, right []bool) {
	for n, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths, right = append(widths, 0), append(right, len(rows) > 1)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
			right[i] = right[i] && (n == 0 || isNumber(c.text))
		}
	}
	return widths, right
}

func isNumber(s string) bool {
	return s == "-" || s != "" && strings.Trim(s, "0123456789.smhd") == ""
}

// visible is a text made safe for a terminal: control characters are written out, line breaks
// stay, with the indent before each further line.
func visible(s, indent string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '\n':
			b.WriteString("\n" + indent)
		case r == '\t' || unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}
