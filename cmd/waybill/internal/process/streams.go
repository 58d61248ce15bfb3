package process

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// streams are our ends of a process's stdin, stdout and stderr. They are pipes made here and not those
// of os/exec, whose Wait would wait for everybody who holds them before we could end the group.
type streams struct {
	feed         *os.File // of stdin
	ours, theirs []*os.File
	copies       sync.WaitGroup
	unread       int // bytes of stdin that were not read, once it is finished
}

// serving is who serves our ends, each in a goroutine of its own. stdin nil: nobody yet.
type serving struct {
	stdin          func(io.WriteCloser)
	stdout, stderr func(io.Reader)
}

// connect gives the command its streams and starts to serve them.
func connect(cmd *exec.Cmd, serve serving) (*streams, error) {
	s := &streams{}
	in, feed, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.add(feed, in)
	cmd.Stdin, s.feed = in, feed
	for _, from := range []struct {
		serve  func(io.Reader)
		stream *io.Writer
	}{{serve.stdout, &cmd.Stdout}, {serve.stderr, &cmd.Stderr}} {
		r, w, err := os.Pipe()
		if err != nil {
			s.started()
			s.finish()
			return nil, err
		}
		s.add(r, w)
		*from.stream = w
		s.copies.Go(func() { from.serve(r) }) // to the end of the pipe, or of our patience
	}
	if serve.stdin != nil {
		s.copies.Go(func() { serve.stdin(feed) })
	}
	return s, nil
}

func (s *streams) add(ours, theirs *os.File) {
	s.ours, s.theirs = append(s.ours, ours), append(s.theirs, theirs)
}

// started closes the process's ends, which it has by now.
func (s *streams) started() {
	for _, f := range s.theirs {
		_ = f.Close()
	}
}

// finish waits for what is still to be read, for a while, and closes our ends.
func (s *streams) finish() {
	for _, f := range s.ours {
		_ = f.SetDeadline(time.Now().Add(lastRead))
	}
	s.copies.Wait()
	if s.feed != nil {
		s.unread = unread(s.feed)
	}
	for _, f := range s.ours {
		_ = f.Close()
	}
}

// head keeps the first bytes written to it and drops the rest.
type head struct {
	buf  []byte
	most int
}

func (h *head) Write(p []byte) (int, error) {
	h.buf = append(h.buf, p[:min(len(p), h.most-len(h.buf))]...)
	return len(p), nil
}

// bytes is what was kept; nil where nothing was written.
func (h *head) bytes() []byte { return h.buf }

// tailBytes is how much of a command's stderr becomes its error.
const tailBytes = 4 << 10

// tail passes on what is written to it, and keeps the last bytes.
type tail struct {
	pass io.Writer
	mu   sync.Mutex
	buf  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.keep(p)
	_, _ = t.pass.Write(p) // the job does not fail because nobody listens
	return len(p), nil
}

func (t *tail) keep(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-tailBytes):]...)
	t.buf = t.buf[max(0, len(t.buf)-tailBytes):]
}

func (t *tail) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
