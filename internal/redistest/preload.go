package redistest

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

//go:embed preload/preload.c
var preloadSource []byte

const noCompiler = `

    ****************************************************************
    *  NO C COMPILER: this test did not run.                       *
    *  It loads a few lines of C before redis-server, and needs cc *
    *  or gcc on the PATH, on Linux.                               *
    ****************************************************************
`

// Preload puts a small library between the server and the system, for [Server.Clock] and [Server.Disk]. It is compiled
// when the server starts, with cc. Where that is missing the test skips and says so; with the environment variable CI set
// it fails instead.
func Preload() Option {
	return func(s *Server) { s.preload = &preload{} }
}

// preload is the file through which the test and the library speak. Its layout is that of board in preload.c, and the
// pages of the file are shared with the mapping there, so that a number written here counts at once.
type preload struct {
	t    testing.TB
	file *os.File
}

// Places in the file, in bytes.
const (
	shiftAt, roomAt, callsAt, firstCall = 0, 8, 16, 32
	callSize, mostCalls                 = 32, 262144
)

// begin compiles the library into dir, and gives the command that starts a program with it.
func (p *preload) begin(t testing.TB, dir, program string) []string {
	t.Helper()
	p.t = t
	compiler, err := exec.LookPath("cc")
	if err != nil {
		compiler, err = exec.LookPath("gcc")
	}
	env, envErr := exec.LookPath("env")
	switch err = errors.Join(err, envErr); {
	case err != nil && os.Getenv("CI") != "":
		t.Fatal(noCompiler)
	case err != nil:
		t.Skip(noCompiler)
	}
	source, library, board := filepath.Join(dir, "preload.c"), filepath.Join(dir, "preload.so"), filepath.Join(dir, "preload.board")
	if err := os.WriteFile(source, preloadSource, 0o600); err != nil {
		t.Fatalf("redistest: preload: %v", err)
	}
	build := exec.CommandContext(t.Context(), compiler, "-shared", "-fPIC", "-O1", "-o", library, source)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("redistest: compile the preload: %v\n%s", err, out)
	}
	if p.file, err = os.OpenFile(board, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		err = p.file.Truncate(firstCall + callSize*mostCalls)
	}
	if err != nil {
		t.Fatalf("redistest: preload: %v", err)
	}
	t.Cleanup(func() { _ = p.file.Close() })
	p.set(roomAt, -1)
	return []string{env, "LD_PRELOAD=" + library, "WAYBILL_PRELOAD=" + board, program}
}

func (p *preload) set(at int64, n int64) {
	p.t.Helper()
	if _, err := p.file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(n)), at); err != nil {
		p.t.Fatalf("redistest: preload: %v", err)
	}
}

func (p *preload) get(at int64) int64 {
	p.t.Helper()
	var b [8]byte
	if _, err := p.file.ReadAt(b[:], at); err != nil {
		p.t.Fatalf("redistest: preload: %v", err)
	}
	return int64(binary.NativeEndian.Uint64(b[:]))
}

// Clock is the wall clock that a server reads.
type Clock struct{ p *preload }

// Clock is the server's wall clock. The server needs the option [Preload].
func (s *Server) Clock() Clock { return Clock{s.preloaded()} }

// Shift sets how far ahead of the machine's the server's wall clock is, at once; negative = behind. Restart keeps it.
// The monotonic clock, by which the server runs its own timers, stays.
func (c Clock) Shift(d time.Duration) { c.p.set(shiftAt, int64(d)) }

// Disk is the disk on which a server keeps its append-only file.
type Disk struct{ p *preload }

// Disk is the disk of the server's append-only file. The server needs the option [Preload].
func (s *Server) Disk() Disk { return Disk{s.preloaded()} }

func (s *Server) preloaded() *preload {
	s.t.Helper()
	if s.preload == nil {
		s.t.Fatal("redistest: the server was started without the option Preload")
	}
	return s.preload
}

// Fill leaves so many bytes of room for the append-only file: the write that crosses it is cut short, and those after it
// fail as on a full disk (ENOSPC).
func (d Disk) Fill(room int64) { d.p.set(roomAt, room) }

// Free makes room again.
func (d Disk) Free() { d.p.set(roomAt, -1) }

// CallKind says which call a server made on its append-only file.
type CallKind int64

// Calls on the append-only file.
const (
	CallWrite   CallKind = 1
	CallSync    CallKind = 2 // fdatasync or fsync that succeeded
	CallRefused CallKind = 3 // a write that failed: the disk is full
)

// Call is one call on the append-only file. Size is the file's, in bytes: after a write, but before a sync, so that it is
// what the sync has certainly made durable. Begun and Done are nanoseconds of the machine's monotonic clock.
type Call struct {
	Kind              CallKind
	Size, Begun, Done int64
}

// Calls are the calls on the append-only file so far, in the order of their ends.
func (d Disk) Calls() []Call {
	d.p.t.Helper()
	n := d.p.get(callsAt)
	if n > mostCalls {
		d.p.t.Fatalf("redistest: %d calls on the append-only file: at most %d are noted", n, mostCalls)
	}
	all := make([]Call, n)
	read := io.NewSectionReader(d.p.file, firstCall, n*callSize)
	if err := binary.Read(read, binary.NativeEndian, all); err != nil {
		d.p.t.Fatalf("redistest: preload: %v", err)
	}
	return slices.DeleteFunc(all, func(c Call) bool { return c.Kind == 0 }) // it is being noted
}
