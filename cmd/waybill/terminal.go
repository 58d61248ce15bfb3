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

// isTerminal tells whether people sit at a stream: it is a character device, and not the null device.
func isTerminal(stream any) bool {
	f, ok := fileOf(stream)
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

// fileOf is the file that a stream writes to or reads from, if it is one.
func fileOf(stream any) (*os.File, bool) {
	if s, ok := stream.(*shared); ok {
		stream = s.w
	}
	f, ok := stream.(*os.File)
	return f, ok
}

// width is how many characters a line of the terminal has; 0 where people don't sit at the stream, or it is not known.
func width(stream any) int {
	f, ok := fileOf(stream)
	if !ok || !isTerminal(f) {
		return 0
	}
	return columns(f)
}

// fitted is a text cut to so many characters; 0 = uncut.
func fitted(text string, n int) string {
	if n <= 0 || utf8.RuneCountInString(text) <= n {
		return text
	}
	runes := []rune(text)
	return string(runes[:max(n-1, 0)]) + "…"
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
