package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// Bounds of what is read before it is sent.
const (
	batchLines = 1000
	batchBytes = 4 << 20
	readAhead  = 1 << 20
)

// line is one of many. size is its length also where it is over the limit; then the text is cut.
type line struct {
	number int64
	size   int64
	text   []byte
}

// lineReader cuts input into batches of lines. What has arrived is given at once: no line waits
// for later ones.
type lineReader struct {
	r    *bufio.Reader
	most int // bytes of a line
	n    int64
	last error // why there is no more; io.EOF at the end
}

// batch reads lines until none is there without waiting, or the bounds are reached.
func (l *lineReader) batch() []line {
	var out []line
	for bytesIn := 0; l.last == nil && len(out) < batchLines && bytesIn < batchBytes; {
		next, ok := l.line()
		if !ok {
			break
		}
		out = append(out, next)
		bytesIn += len(next.text)
		if rest, _ := l.r.Peek(l.r.Buffered()); bytes.IndexByte(rest, '\n') < 0 {
			break
		}
	}
	return out
}

// line reads one line, without its end. The last line may have none.
func (l *lineReader) line() (line, bool) {
	out := line{number: l.n + 1}
	for {
		part, err := l.r.ReadSlice('\n')
		whole := err == nil
		if whole {
			part = part[:len(part)-1]
		}
		if out.size += int64(len(part)); out.size <= int64(l.most) {
			out.text = append(out.text, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		l.last = err
		if whole || errors.Is(err, io.EOF) && out.size > 0 {
			l.n++
			return out, true
		}
		return out, false
	}
}

// feed hands over batches until the input ends.
func feed(ctx context.Context, l *lineReader, batches chan<- []line) error {
	for l.last == nil {
		b := l.batch()
		if len(b) == 0 {
			continue
		}
		select {
		case batches <- b:
		case <-ctx.Done():
			return nil
		}
	}
	if errors.Is(l.last, io.EOF) {
		return nil
	}
	return fmt.Errorf("read line %d: %w", l.n+1, l.last)
}
