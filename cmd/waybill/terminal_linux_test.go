package main_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/waybillhq/waybill"
	main "github.com/waybillhq/waybill/cmd/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// terminal is a terminal at which nobody sits but the test.
type terminal struct {
	t     *testing.T
	ours  *os.File // types and reads
	their *os.File // what the program sees

	mu    sync.Mutex
	shown bytes.Buffer
}

// newTerminal opens a terminal with lines of so many characters.
func newTerminal(t *testing.T, columns uint16) *terminal {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil && os.Getenv("CI") != "" {
		t.Fatalf("no terminals here: %v", err)
	}
	if err != nil {
		t.Skipf("NO terminals here, so what one shows was NOT tested: %v", err)
	}
	tell := func(f *os.File, request uintptr, arg unsafe.Pointer) {
		t.Helper()
		if _, _, failed := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(arg)); failed != 0 {
			t.Fatal(failed)
		}
	}
	var unlocked, number int32
	tell(ours, syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked))
	tell(ours, syscall.TIOCGPTN, unsafe.Pointer(&number))
	their, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	size := [4]uint16{40, columns}
	tell(their, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	term := &terminal{t: t, ours: ours, their: their}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for b := make([]byte, 4096); ; {
			n, err := ours.Read(b)
			if err != nil {
				return // all ends of the other side are closed
			}
			term.mu.Lock()
			term.shown.Write(b[:n])
			term.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = their.Close()
		<-read
		_ = ours.Close()
	})
	return term
}

func (term *terminal) text() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.shown.String()
}

// run runs the program at the terminal; answer is typed when it asks.
func (term *terminal) run(s *redistest.Server, answer string, args ...string) (status int) {
	term.t.Helper()
	ended := make(chan int, 1)
	go func() {
		ended <- main.Run(args, term.their, term.their, term.their, []string{"WAYBILL_REDIS=" + s.URL(), "TERM=xterm"})
	}()
	if answer != "" {
		until(term.t, "it asks", func() bool { return strings.HasSuffix(term.text(), "? [y/N] ") })
		_, err := term.ours.WriteString(answer + "\n")
		must(term.t, err)
	}
	return <-ended
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	t.Run("a change of many jobs asks, and does nothing without a yes", func(t *testing.T) {
		t.Parallel()
		s, c := held(t)
		term := newTerminal(t, 100)
		if got := term.run(s, "", "job", "cancel", "q", "--kind", "nobody"); got != 0 || strings.Contains(term.text(), "?") {
			t.Errorf("status %d where there is nothing to do: %q", got, term.text())
		}
		if got := term.run(s, "n", "job", "cancel", "q", "--state", "ready"); got != 1 {
			t.Errorf("status %d after a no", got)
		}
		until(t, "it says so", func() bool {
			return strings.Contains(term.text(), "Cancel 1 ready job of queue q? [y/N] n\r\nwaybill: nothing was changed\r\n")
		})
		if j := job(t, c, "id"); j.State != waybill.StateReady {
			t.Errorf("the job is %s after a no", j.State)
		}
		if got := term.run(s, "yes", "job", "cancel", "q", "--state", "ready"); got != 0 {
			t.Errorf("status %d after a yes: %q", got, term.text())
		}
		if j := job(t, c, "id"); j.State != waybill.StateCancelled {
			t.Errorf("the job is %s after a yes", j.State)
		}
	})
	t.Run("a list is coloured and fits the line", func(t *testing.T) {
		t.Parallel()
		s, c := held(t)
		must(t, c.Queue("q").Cancel(t.Context(), "id", strings.Repeat("long ", 50)))
		term := newTerminal(t, 60)
		if got := term.run(s, "", "job", "list", "q"); got != 0 {
			t.Errorf("status %d", got)
		}
		until(t, "the list is there", func() bool { return strings.Count(term.text(), "\r\n") == 2 })
		_, row, _ := strings.Cut(term.text(), "\r\n")
		row = strings.TrimSuffix(row, "\r\n")
		bare := strings.NewReplacer("\x1b[33m", "", "\x1b[0m", "").Replace(row)
		if !strings.Contains(row, "\x1b[33mcancelled\x1b[0m") || !strings.HasSuffix(bare, "…") || len([]rune(bare)) != 60 {
			t.Errorf("%d characters: %q", len([]rune(bare)), row)
		}
	})
	t.Run("stats are drawn in place", func(t *testing.T) {
		t.Parallel()
		s, _ := held(t)
		term := newTerminal(t, 100)
		ended := make(chan int, 1)
		go func() { ended <- term.run(s, "", "queue", "stats", "--interval", "5ms") }()
		until(t, "it is drawn three times", func() bool { return strings.Count(term.text(), "\x1b[H\x1b[1mQUEUE") >= 3 })
		s.Kill()
		if got := <-ended; got != 5 {
			t.Errorf("status %d where Redis is gone", got)
		}
	})
}
