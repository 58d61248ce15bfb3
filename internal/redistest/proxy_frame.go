package redistest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
)

// Bounds of a frame: of a line and of one string in bytes, and of how deep arrays may nest. Redis's own bounds are 64 KiB
// for a line and 512 MiB for a string.
const (
	maxLine = 64 << 10
	maxBulk = 512 << 20
	maxNest = 32
)

var errFrame = errors.New("redistest: not a frame")

// frames reads RESP, of version 2 or 3, frame by frame. Memory is taken for what came, never for what was announced.
type frames struct {
	r   *bufio.Reader
	buf []byte // of the frame being read
}

func newFrames(r io.Reader) *frames { return &frames{r: bufio.NewReaderSize(r, maxLine)} }

// next reads a frame as a server sends it. The caller may keep it. Errors: errFrame, and those of the reader.
func (f *frames) next() ([]byte, error) {
	f.buf = nil
	err := f.value(0)
	return f.buf, err
}

// request reads a frame as a client sends it, which may also be a plain line.
func (f *frames) request() ([]byte, error) {
	first, err := f.r.Peek(1)
	if err != nil {
		return nil, err
	}
	if first[0] == '*' {
		return f.next()
	}
	f.buf = nil
	_, err = f.line()
	return f.buf, err
}

// value reads one value and all that is in it.
func (f *frames) value(nest int) error {
	if nest > maxNest {
		return errFrame
	}
	line, err := f.line()
	if err != nil {
		return err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return errFrame
	}
	sort, rest := line[0], line[1:len(line)-2]
	switch sort {
	case '+', '-', ':', '_', ',', '#', '(':
		return nil
	case '$', '!', '=':
		return f.bulk(rest)
	case '*', '~', '>', '%', '|':
		return f.values(sort, rest, nest)
	}
	return errFrame
}

func (f *frames) bulk(length []byte) error {
	n, err := strconv.Atoi(string(length))
	if err != nil || n < -1 || n > maxBulk {
		return errFrame
	}
	if n == -1 {
		return nil
	}
	if err := f.take(n + 2); err != nil {
		return err
	}
	if !bytes.HasSuffix(f.buf, []byte("\r\n")) {
		return errFrame
	}
	return nil
}

// values reads the elements of an array, a set, a push or a map; behind an attribute stands what it belongs to.
func (f *frames) values(sort byte, count []byte, nest int) error {
	n, err := strconv.ParseInt(string(count), 10, 32)
	if err != nil || n < -1 {
		return errFrame
	}
	if sort == '%' || sort == '|' {
		n *= 2
	}
	if sort == '|' {
		n++
	}
	for ; n > 0; n-- {
		if err := f.value(nest + 1); err != nil {
			return err
		}
	}
	return nil
}

// line reads a line with its end. What it gives holds until the next read.
func (f *frames) line() ([]byte, error) {
	line, err := f.r.ReadSlice('\n')
	f.buf = append(f.buf, line...)
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, errFrame
	}
	return f.buf[len(f.buf)-len(line):], cut(err, len(f.buf))
}

// take reads n bytes, as they come.
func (f *frames) take(n int) error {
	for n > 0 {
		part := min(n, max(f.r.Buffered(), 1))
		from := len(f.buf)
		f.buf = append(f.buf, make([]byte, part)...)
		got, err := io.ReadFull(f.r, f.buf[from:])
		f.buf = f.buf[:from+got]
		if err != nil {
			return cut(err, len(f.buf))
		}
		n -= part
	}
	return nil
}

// cut says of an end within a frame that it is one.
func cut(err error, got int) error {
	if errors.Is(err, io.EOF) && got > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}

// words are those of a request: none where the server answers it with nothing or with an error of the protocol.
func words(raw []byte) [][]byte {
	if len(raw) == 0 || raw[0] != '*' {
		return bytes.Fields(raw)
	}
	_, rest, _ := bytes.Cut(raw, []byte("\r\n"))
	var out [][]byte
	for len(rest) > 0 {
		word, behind, ok := word(rest)
		if !ok {
			return nil
		}
		out, rest = append(out, word), behind
	}
	return out
}

// word is the string that a frame begins with, and what stands behind it; ok is false where it begins with none.
func word(frame []byte) (word, behind []byte, ok bool) {
	head, rest, _ := bytes.Cut(frame, []byte("\r\n"))
	if len(head) < 2 || head[0] != '$' {
		return nil, nil, false
	}
	n, err := strconv.Atoi(string(head[1:]))
	if err != nil || n < 0 || n+2 > len(rest) {
		return nil, nil, false
	}
	return rest[:n], rest[n+2:], true
}

// first is the string that stands first in an array or a push; "" where none does.
func first(frame []byte) string {
	_, rest, _ := bytes.Cut(frame, []byte("\r\n"))
	w, _, _ := word(rest)
	return string(w)
}
