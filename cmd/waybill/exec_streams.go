package main

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// streams are our ends of a child's stdin, stdout and stderr. They are pipes made here and not those
// of os/exec, whose Wait would wait for everybody who holds them before we could end the group.
type streams struct {
	ours, theirs []*os.File
	copies       sync.WaitGroup
}

// connect gives the command its streams and starts to serve them.
func (c *child) connect(cmd *exec.Cmd, stdout, stderr io.Writer) (*streams, error) {
	s := &streams{}
	in, feed, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.add(feed, in)
	cmd.Stdin = in
	for _, to := range []struct {
		w      io.Writer
		stream *io.Writer
	}{{stdout, &cmd.Stdout}, {stderr, &cmd.Stderr}} {
		r, w, err := os.Pipe()
		if err != nil {
			s.started()
			s.finish()
			return nil, err
		}
		s.add(r, w)
		*to.stream = w
		s.copies.Go(func() { _, _ = io.Copy(to.w, r) }) // the end of the pipe, or of our patience
	}
	s.copies.Go(func() {
		_, _ = feed.Write(c.stdin) // a command need not read it
		_ = feed.Close()
	})
	return s, nil
}

func (s *streams) add(ours, theirs *os.File) {
	s.ours, s.theirs = append(s.ours, ours), append(s.theirs, theirs)
}

// started closes the child's ends, which it has by now.
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
	buf  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p[max(0, len(p)-tailBytes):]...)
	t.buf = t.buf[max(0, len(t.buf)-tailBytes):]
	_, _ = t.pass.Write(p) // the job does not fail because nobody listens
	return len(p), nil
}

func (t *tail) String() string { return string(t.buf) }
