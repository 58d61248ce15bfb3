package devredis

import (
	"bytes"
	"strings"
	"sync"
)

// tailSize is how much of a child's output is kept, in bytes.
const tailSize = 4 << 10

// tail is a writer that keeps the last whole lines written to it. The zero
// value is ready; it may be used from several goroutines.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if cut := len(t.buf) - tailSize; cut > 0 {
		rest := t.buf[cut:]
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			rest = rest[i+1:]
		}
		t.buf = append(t.buf[:0], rest...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}
