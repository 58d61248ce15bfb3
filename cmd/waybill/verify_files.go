package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/waybillhq/waybill/history"
)

// historyFile is one of the files that are read as one history.
type historyFile struct {
	name  string
	r     io.Reader
	lines int64
	open  bool // the last line has no end
}

// Read gives the file with an end behind its last line, so that the next file begins a line.
func (f *historyFile) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if n == 0 && err == io.EOF && f.open && len(p) > 0 {
		n, err = copy(p, "\n"), nil
	}
	if n > 0 {
		f.lines += int64(bytes.Count(p[:n], []byte("\n")))
		f.open = p[n-1] != '\n'
	}
	if err != nil && err != io.EOF {
		return n, fmt.Errorf("read %s: %w: %w", f.name, history.ErrUnreadable, err)
	}
	return n, err
}

// historyFiles are read one after another.
type historyFiles []*historyFile

// openHistories opens files; - is stdin. The caller closes them. Errors: history.ErrUnreadable.
func (a *app) openHistories(names []string) (files historyFiles, closeAll func(), err error) {
	var opened []io.Closer
	closeAll = func() {
		for _, c := range opened {
			_ = c.Close()
		}
	}
	for _, name := range names {
		if name == "-" {
			files = append(files, &historyFile{name: "stdin", r: a.stdin})
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			closeAll()
			return nil, nil, fmt.Errorf("%w: %w", history.ErrUnreadable, err)
		}
		opened = append(opened, f)
		files = append(files, &historyFile{name: name, r: f})
	}
	return files, closeAll, nil
}

// check holds them, as one history, against the promises, and tells lines by their files.
func (files historyFiles) check() (history.Report, error) {
	readers := make([]io.Reader, len(files))
	for i, f := range files {
		readers[i] = f
	}
	r, err := history.Check(io.MultiReader(readers...))
	if at, ok := errors.AsType[*history.LineError](err); ok {
		name, line := files.locate(at.Line)
		return r, fmt.Errorf("%s: %w", name, &history.LineError{Line: line, Why: at.Why})
	}
	if err == nil && r.Lines == 0 {
		return r, fmt.Errorf("%s: it has no lines: %w", files[0].name, history.ErrUnreadable)
	}
	for _, i := range r.Invariants {
		for _, v := range i.Violations {
			for n := range v.Lines {
				v.Lines[n].File, v.Lines[n].Number = files.locate(v.Lines[n].Number)
			}
		}
	}
	return r, err
}

// locate gives the file of a line, and its number there.
func (files historyFiles) locate(line int64) (name string, number int64) {
	for _, f := range files[:len(files)-1] {
		if line <= f.lines {
			return f.name, line
		}
		line -= f.lines
	}
	return files[len(files)-1].name, line
}
