package powercut_test

import (
	"bytes"
	"strconv"
	"testing"
)

// frame is one command in an append-only file, by its places there.
type frame struct {
	from, to int64
	args     []string
	within   bool // a transaction, that is: cut before its end, this command and those before it are half of one
}

// framesOf reads an append-only file, which must be whole.
func framesOf(t *testing.T, log []byte) []frame {
	t.Helper()
	var all []frame
	open := false
	for at := 0; at < len(log); {
		if log[at] == '#' { // a note: the time
			at += bytes.IndexByte(log[at:], '\n') + 1
			continue
		}
		f := frame{from: int64(at)}
		n := number(t, log, &at, '*')
		for range n {
			size := number(t, log, &at, '$')
			f.args = append(f.args, string(log[at:at+size]))
			at += size + 2
		}
		f.to = int64(at)
		switch f.args[0] {
		case "MULTI":
			open = true
		case "EXEC":
			open = false
		}
		f.within = open
		all = append(all, f)
	}
	return all
}

func number(t *testing.T, log []byte, at *int, mark byte) int {
	t.Helper()
	end := bytes.IndexByte(log[*at:], '\r')
	if log[*at] != mark || end < 0 {
		t.Fatalf("byte %d of the append-only file is %q: not %q", *at, log[*at], mark)
	}
	n, err := strconv.Atoi(string(log[*at+1 : *at+end]))
	must(t, err)
	*at += end + 2
	return n
}

// whole is what a server must take of a file of that size: up to the end of its last whole transaction, or of a command
// outside any.
func whole(frames []frame, size int64) int64 {
	end := int64(0)
	for _, f := range frames {
		if f.to > size {
			break
		}
		if !f.within {
			end = f.to
		}
	}
	return end
}
