package receipt_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill/receipt"
	"github.com/waybillhq/waybill/receipt/pgxreceipt"
)

// childEnv makes the test binary the process of an attempt. Its value is a childPlan.
const childEnv = "WAYBILL_TEST_RECEIPT"

type childPlan struct {
	Driver, DSN string
	Dialect     receipt.Dialect
	Level       sql.IsolationLevel
	Native      bool
	Idle        time.Duration
}

// child applies the effect 1 of job "frozen". Inside its transaction it says "inside" and waits for a line.
func child() int {
	var p childPlan
	err := json.Unmarshal([]byte(os.Getenv(childEnv)), &p)
	if err == nil {
		err = p.work(context.Background())
	}
	if err != nil {
		fmt.Println("failed:", err)
		return 1
	}
	return 0
}

func (p childPlan) work(ctx context.Context) (err error) {
	s := &stand{variant: variant{level: p.Level, native: p.Native}}
	o := receipt.Options{Isolation: p.Level, IdleTimeout: p.Idle}
	if p.Native {
		if s.pool, err = pgxpool.New(ctx, p.DSN); err == nil {
			s.native, err = pgxreceipt.New(s.pool, o)
		}
	} else if s.db, err = sql.Open(p.Driver, p.DSN); err == nil {
		s.r, err = receipt.New(s.db, p.Dialect, o)
	}
	if err != nil {
		return err
	}
	lines := bufio.NewReader(os.Stdin)
	res, err := s.do(ctx, key("frozen"), func(ctx context.Context, x statement) (string, error) {
		value, err := adds(1)(ctx, x)
		fmt.Println("inside")
		_, _ = lines.ReadString('\n')
		return value, err
	})
	if err == nil {
		fmt.Println(res.Outcome)
	}
	return err
}

// process is a child.
type process struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// frozen starts a child and stops it inside its transaction.
func (s *stand) frozen(t *testing.T, idle time.Duration) *process {
	t.Helper()
	plan, err := json.Marshal(childPlan{s.Driver, s.DSN, s.dialect, s.variant.level, s.variant.native, idle})
	must(t, err)
	p := &process{Cmd: exec.CommandContext(t.Context(), os.Args[0])}
	p.Env = append(os.Environ(), childEnv+"="+string(plan))
	p.in, err = p.StdinPipe()
	must(t, err)
	out, err := p.StdoutPipe()
	must(t, err)
	p.out = bufio.NewScanner(out)
	must(t, p.Start())
	t.Cleanup(func() {
		_ = p.Process.Kill() // it may have ended
		_ = p.Wait()
	})
	if line := p.line(); line != "inside" {
		t.Fatalf("the child says %q", line)
	}
	must(t, p.Process.Signal(syscall.SIGSTOP))
	return p
}

func (p *process) line() string {
	p.out.Scan()
	return p.out.Text()
}

// goesOn continues it, lets it commit, and gives what came of that.
func (p *process) goesOn(t *testing.T) string {
	t.Helper()
	must(t, p.Process.Signal(syscall.SIGCONT))
	_, err := io.WriteString(p.in, "\n")
	must(t, err)
	return p.line()
}

// second is another attempt, beside the frozen one.
func (s *stand) second(t *testing.T) <-chan receipt.Outcome {
	t.Helper()
	done := make(chan receipt.Outcome, 1)
	go func() {
		defer close(done)
		res, err := s.do(t.Context(), key("frozen"), adds(1))
		if err != nil {
			t.Errorf("the second attempt: %v", err)
		}
		done <- res.Outcome
	}()
	return done
}

func (s *stand) appliedOnce(t *testing.T) {
	t.Helper()
	if s.effects(t, 1) != 1 || s.receiptsOf(t, "frozen") != 1 {
		t.Errorf("%d effects, %d receipts", s.effects(t, 1), s.receiptsOf(t, "frozen"))
	}
}

func TestFrozen(t *testing.T) {
	t.Parallel()
	each(t, servers(), receipt.Options{}, func(t *testing.T, s *stand) {
		t.Run("the second goes on after the idle timeout, and the first is told when it continues", func(t *testing.T) {
			p := s.frozen(t, time.Second)
			if got := <-s.second(t); got != receipt.Applied {
				t.Errorf("the second: %s", got)
			}
			if got := p.goesOn(t); got != string(receipt.Replayed) {
				t.Errorf("the first: %s", got)
			}
			s.appliedOnce(t)
		})
	})
}

func TestFrozenThenKilled(t *testing.T) {
	t.Parallel()
	each(t, servers(), receipt.Options{}, func(t *testing.T, s *stand) {
		p := s.frozen(t, time.Minute)
		second := s.second(t)
		must(t, p.Process.Kill())
		if got := <-second; got != receipt.Applied {
			t.Errorf("the second: %s", got)
		}
		s.appliedOnce(t)
	})
}

func TestFrozenThenCommitted(t *testing.T) {
	t.Parallel()
	each(t, servers(), receipt.Options{}, func(t *testing.T, s *stand) {
		p := s.frozen(t, time.Minute)
		second := s.second(t)
		if got := p.goesOn(t); got != string(receipt.Applied) {
			t.Errorf("the first: %s", got)
		}
		if got := <-second; got != receipt.Replayed {
			t.Errorf("the second: %s", got)
		}
		s.appliedOnce(t)
	})
}

// On SQLite nothing but the end of the frozen process helps.
func TestFrozenSQLite(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, p *process) (second receipt.Outcome){
		"killed": func(t *testing.T, p *process) receipt.Outcome {
			must(t, p.Process.Kill())
			_ = p.Wait()
			return receipt.Applied
		},
		"continued": func(t *testing.T, p *process) receipt.Outcome {
			if got := p.goesOn(t); got != string(receipt.Applied) {
				t.Errorf("the first: %s", got)
			}
			return receipt.Replayed
		},
	} {
		t.Run("blocks and says so until it is "+name, func(t *testing.T) {
			t.Parallel()
			var lites []variant
			for _, v := range impatient(some()) {
				if v.level == sql.LevelDefault {
					lites = append(lites, v)
				}
			}
			each(t, lites, receipt.Options{RetryFor: 100 * time.Millisecond}, func(t *testing.T, s *stand) {
				p := s.frozen(t, 0)
				_, err := s.do(t.Context(), key("frozen"), never(t))
				if got := s.r.Counts(); !errors.Is(err, receipt.ErrBlocked) || got.Blocked == 0 || got.Failed != 1 {
					t.Errorf("%v, counts %+v", err, got)
				}
				want := end(t, p)
				s.receipts(t, receipt.Options{})
				if got := <-s.second(t); got != want {
					t.Errorf("the second: %s, want %s", got, want)
				}
				s.appliedOnce(t)
			})
		})
	}
}
