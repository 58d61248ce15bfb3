package redistest_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/waybillhq/waybill/internal/redistest"
)

// samples are frames, each whole.
var samples = []string{
	"+OK\r\n", "-ERR no\r\n", ":12\r\n", "$-1\r\n", "*-1\r\n", "$0\r\n\r\n", "$5\r\na\r\nbc\r\n", "*0\r\n", "_\r\n", "#t\r\n", ",1.5\r\n",
	"(12345678901234567890\r\n", "=7\r\ntxt:abc\r\n", "!5\r\nERR x\r\n", "*2\r\n$1\r\na\r\n*1\r\n:1\r\n", "%1\r\n+k\r\n~2\r\n:1\r\n:2\r\n",
	">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n", "|1\r\n+ttl\r\n:3\r\n$2\r\nab\r\n", "$70000\r\n" + strings.Repeat("x", 70000) + "\r\n",
}

func TestFrames(t *testing.T) {
	t.Parallel()
	t.Run("frames are told apart, however they arrive", func(t *testing.T) {
		t.Parallel()
		all := strings.Join(samples, "")
		for name, r := range map[string]io.Reader{
			"at once": strings.NewReader(all), "in halves": iotest.HalfReader(strings.NewReader(all)), "by bytes": iotest.OneByteReader(strings.NewReader(all)),
		} {
			next := redistest.Frames(r)
			for _, want := range samples {
				got, err := next()
				must(t, err)
				if string(got) != want {
					t.Fatalf("%s: got %.40q, want %.40q", name, got, want)
				}
			}
			if _, err := next(); !errors.Is(err, io.EOF) {
				t.Errorf("%s: behind the last: %v", name, err)
			}
		}
	})
	t.Run("an end within a frame is not a frame", func(t *testing.T) {
		t.Parallel()
		for _, s := range samples {
			for _, cut := range []int{1, len(s) / 2, len(s) - 1} {
				if got, err := redistest.Frames(strings.NewReader(s[:cut]))(); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%.40q gives %.40q, %v", s[:cut], got, err)
				}
			}
		}
	})
	t.Run("what is no frame is refused", func(t *testing.T) {
		t.Parallel()
		for _, s := range []string{
			"\r\n", "x\r\n", "$a\r\n", "$-2\r\n", "$99999999999\r\n", "*9999999999999\r\n", "+a\n", "$1\r\nab\r\n", "$?\r\n",
			strings.Repeat("*1\r\n", 1000) + ":1\r\n", "+" + strings.Repeat("x", 1<<17) + "\r\n",
		} {
			if got, err := redistest.Frames(strings.NewReader(s))(); err == nil {
				t.Errorf("%.40q gives %.40q", s, got)
			}
		}
	})
	t.Run("words of a request are told, of a plain line too", func(t *testing.T) {
		t.Parallel()
		for s, want := range map[string]string{
			"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n": "GET|k", "PING  now\r\n": "PING|now", "\r\n": "", "*0\r\n": "", "*1\r\n:1\r\n": "",
		} {
			raw, err := redistest.Requests(strings.NewReader(s))()
			must(t, err)
			if got := string(bytes.Join(redistest.Words(raw), []byte("|"))); got != want || string(raw) != s {
				t.Errorf("%q gives %q, words %q", s, raw, got)
			}
		}
	})
}

func FuzzFrame(f *testing.F) {
	for _, s := range samples[:len(samples)-1] {
		f.Add([]byte(s))
	}
	f.Add([]byte("$536870912\r\nshort"))
	f.Add([]byte("*2147483647\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []func(io.Reader) func() ([]byte, error){redistest.Frames, redistest.Requests} {
			next := read(bytes.NewReader(data))
			var all []byte
			for {
				frame, err := next()
				if cap(frame) > 4*len(data)+1024 {
					t.Fatalf("%d bytes are taken for %d that came", cap(frame), len(data))
				}
				if err != nil {
					break
				}
				if size := len(slices.Concat(redistest.Words(frame)...)); size > len(frame) {
					t.Fatalf("%d bytes of words in a frame of %d", size, len(frame))
				}
				all = append(all, frame...)
			}
			if !bytes.HasPrefix(data, all) {
				t.Fatalf("frames %q are not what came", all)
			}
		}
	})
}
