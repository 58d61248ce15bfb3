package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

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
	var opened []*os.File
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
		f, err := openHistory(name, opened)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		opened = append(opened, f)
		files = append(files, &historyFile{name: name, r: f})
	}
	return files, closeAll, nil
}

// openHistory opens one file beside others. One that is there already would double each of its lines.
// Errors: history.ErrUnreadable.
func openHistory(name string, others []*os.File) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", history.ErrUnreadable, err)
	}
	for _, other := range others {
		if sameFile(f, other) {
			_ = f.Close()
			return nil, fmt.Errorf("%s: it is given twice, also as %s: give it once: %w", name, other.Name(), history.ErrUnreadable)
		}
	}
	return f, nil
}

func sameFile(f, other *os.File) bool {
	one, err := f.Stat()
	if err != nil || !one.Mode().IsRegular() {
		return false
	}
	two, err := other.Stat()
	return err == nil && os.SameFile(one, two)
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
	if err == nil && !slices.ContainsFunc(r.Invariants, func(i history.Invariant) bool { return i.Looked > 0 }) {
		return r, fmt.Errorf("%s: no line says anything of a promise: record enqueues and attempts: %w", files[0].name, history.ErrUnreadable)
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
