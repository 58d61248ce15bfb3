package receipt_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
)

func TestFacts(t *testing.T) {
	t.Parallel()
	each(t, variants(), receipt.Options{}, func(t *testing.T, s *stand) {
		for name, way := range s.ways() {
			t.Run(name, func(t *testing.T) { facts{s, way, name}.all(t) })
		}
	})
}

// facts are what holds in every variant and in both forms.
type facts struct {
	*stand
	way  way
	name string
}

func (f facts) all(t *testing.T) {
	t.Run("an effect is applied once and its result comes back", f.once)
	t.Run("other work under a known ID is a mismatch", f.mismatch)
	t.Run("a result over the limit applies nothing", f.tooLarge)
	t.Run("a result that does not decode runs nothing", f.undecodable)
	t.Run("the function's error rolls back and comes back as it is", f.fails)
	t.Run("a panic rolls back", f.panics)
	t.Run("steps are separate", f.steps)
	t.Run("keys are told apart by every byte", f.bytes)
	t.Run("errors of other systems are not the database's", f.foreign)
	t.Run("a user's missing table is not ours", f.theirTable)
}

func (f facts) once(t *testing.T) {
	n, id, before := f.number(), f.name+" once", f.r.Counts()
	first := key(id)
	res, err := f.way(t.Context(), first, adds(n))
	must(t, err)
	if res.Outcome != receipt.Applied || !strings.HasPrefix(res.Value, "result") || !res.AppliedAt.IsZero() {
		t.Errorf("first: %+v", res)
	}
	for _, k := range []receipt.Key{key(id), first} { // another attempt, and the same one again
		again, err := f.way(t.Context(), k, never(t))
		must(t, err)
		if again.Outcome != receipt.Replayed || again.Value != res.Value || time.Since(again.AppliedAt).Abs() > time.Minute {
			t.Errorf("again: %+v", again)
		}
	}
	after := f.r.Counts()
	if f.effects(t, n) != 1 || f.receiptsOf(t, id) != 1 || after.Applied-before.Applied != 1 || after.Replayed-before.Replayed != 2 {
		t.Errorf("%d effects, %d receipts, counts from %+v to %+v", f.effects(t, n), f.receiptsOf(t, id), before, after)
	}
}

func (f facts) mismatch(t *testing.T) {
	n, id := f.number(), f.name+" mismatch"
	_, err := f.way(t.Context(), key(id), adds(n))
	must(t, err)
	other := delivery(id)
	other.Payload = []byte(`{"amount":11}`)
	k := keyOf(other)
	_, err = f.way(t.Context(), k, never(t))
	ends(t, err, waybill.AttemptDead)
	var m *receipt.MismatchError
	if !errors.Is(err, receipt.ErrMismatch) || !errors.As(err, &m) {
		t.Fatalf("is %v", err)
	}
	if string(m.Stored) != string(key(id).Fingerprint) || string(m.Given) != string(k.Fingerprint) || m.Job != id ||
		time.Since(m.AppliedAt).Abs() > time.Minute {
		t.Errorf("says %+v", m)
	}
}

func (f facts) tooLarge(t *testing.T) {
	n, id := f.number(), f.name+" large"
	returning := func(size int) effect {
		return func(ctx context.Context, x statement) (string, error) {
			_, err := adds(n)(ctx, x)
			return strings.Repeat("a", size), err
		}
	}
	_, err := f.way(t.Context(), key(id), returning(receipt.MaxResult-1)) // and two quotes
	ends(t, err, waybill.AttemptDead)
	if !errors.Is(err, receipt.ErrTooLarge) || f.effects(t, n) != 0 || f.receiptsOf(t, id) != 0 {
		t.Errorf("%v, %d effects, %d receipts", err, f.effects(t, n), f.receiptsOf(t, id))
	}
	_, err = f.way(t.Context(), key(id), returning(receipt.MaxResult-2))
	must(t, err)
	if res, err := f.way(t.Context(), key(id), never(t)); err != nil || len(res.Value) != receipt.MaxResult-2 {
		t.Errorf("%d bytes, %v", len(res.Value), err)
	}
}

func (f facts) undecodable(t *testing.T) {
	n, id := f.number(), f.name+" decode"
	_, err := f.way(t.Context(), key(id), adds(n))
	must(t, err)
	f.setResult(t, id, `17`)
	res, err := f.way(t.Context(), key(id), never(t))
	ends(t, err, waybill.AttemptDead)
	if !errors.Is(err, receipt.ErrResult) || res.Outcome != receipt.Replayed || f.effects(t, n) != 1 {
		t.Errorf("%v, %+v, %d effects", err, res, f.effects(t, n))
	}
}

// setResult changes a saved result.
func (s *stand) setResult(t *testing.T, id, result string) {
	t.Helper()
	column := "key"
	if s.Dialect == receipt.MariaDB {
		column = "k"
	}
	s.run(t, "UPDATE waybill_receipt SET result = '"+result+"' WHERE "+column+" = '"+id+"'")
}

func (f facts) fails(t *testing.T) {
	n, id := f.number(), f.name+" fails"
	own, runs := errors.New("no cover"), 0
	_, err := f.way(t.Context(), key(id), func(ctx context.Context, x statement) (string, error) {
		runs++
		must(t, x(ctx, "INSERT INTO effect (n) VALUES (0)"))
		return "", own
	})
	if err != own || runs != 1 { //nolint:errorlint // as it is, not wrapped
		t.Errorf("is %v after %d runs", err, runs)
	}
	if f.effects(t, 0) != 0 || f.receiptsOf(t, id) != 0 {
		t.Errorf("%d effects, %d receipts", f.effects(t, 0), f.receiptsOf(t, id))
	}
	res, err := f.way(t.Context(), key(id), adds(n))
	if err != nil || res.Outcome != receipt.Applied {
		t.Errorf("next: %+v, %v", res, err)
	}
}

func (f facts) panics(t *testing.T) {
	n, id := f.number(), f.name+" panics"
	func() {
		defer func() {
			if recover() != "no cover" {
				t.Error("the panic did not come through")
			}
		}()
		_, _ = f.way(t.Context(), key(id), func(ctx context.Context, x statement) (string, error) {
			must(t, x(ctx, "INSERT INTO effect (n) VALUES (0)"))
			panic("no cover")
		})
	}()
	res, err := f.way(t.Context(), key(id), adds(n))
	if err != nil || res.Outcome != receipt.Applied || f.effects(t, 0) != 0 {
		t.Errorf("next: %+v, %v, %d effects of before", res, err, f.effects(t, 0))
	}
}

func (f facts) steps(t *testing.T) {
	id := f.name + "-steps"
	for _, step := range []string{"charge", "ship"} {
		n := f.number()
		for range 2 {
			_, err := f.way(t.Context(), key(id, step), adds(n))
			must(t, err)
		}
		if f.effects(t, n) != 1 {
			t.Errorf("%s: %d effects", step, f.effects(t, n))
		}
	}
	if f.receiptsOf(t, id) != 2 {
		t.Errorf("%d receipts", f.receiptsOf(t, id))
	}
}

func (f facts) bytes(t *testing.T) {
	long := strings.Repeat("é", 63) // with what stands before it 128 bytes
	for _, k := range []receipt.Key{
		key(f.name + "-a"), key(f.name + "-A"), key(f.name+"-a", "b"), key(f.name + "-a/b"), key(f.name+"-a", "b "), key(f.name + "-á"),
		key("x" + f.name[:1] + long), key("X" + f.name[:1] + long), key("x"+f.name[:1]+long, strings.Repeat("ü", 191)),
		key("x"+f.name[:1]+long, strings.Repeat("ü", 190)+"u"),
	} {
		n := f.number()
		res, err := f.way(t.Context(), k, adds(n))
		if err != nil || res.Outcome != receipt.Applied || f.effects(t, n) != 1 {
			t.Errorf("%q: %+v, %v", k.ID, res, err)
		}
		k.Token = "another"
		if res, err = f.way(t.Context(), k, never(t)); err != nil || res.Outcome != receipt.Replayed {
			t.Errorf("%q again: %+v, %v", k.ID, res, err)
		}
	}
}

func (f facts) foreign(t *testing.T) {
	for _, own := range []error{
		&os.PathError{Op: "open", Path: "invoice", Err: os.ErrNotExist}, io.ErrUnexpectedEOF, coded(5),
		numbered{Number: 1213},
		&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("refused")},
	} {
		runs := 0
		_, err := f.way(t.Context(), key(f.name+" foreign"), func(context.Context, statement) (string, error) {
			runs++
			return "", own
		})
		if err != own || runs != 1 { //nolint:errorlint // as it is, not wrapped
			t.Errorf("%v: is %v after %d runs", own, err, runs)
		}
		ends(t, err, waybill.AttemptRetry)
	}
}

// coded and numbered look a little like errors of databases.
type coded int

func (coded) Error() string { return "not found" }
func (c coded) Code() int   { return int(c) }

type numbered struct{ Number int }

func (numbered) Error() string { return "invoice" }

func (f facts) theirTable(t *testing.T) {
	before := f.r.Counts()
	_, err := f.way(t.Context(), key(f.name+" table"), func(ctx context.Context, x statement) (string, error) {
		return "", x(ctx, "INSERT INTO nowhere (n) VALUES (1)")
	})
	if err == nil || errors.Is(err, receipt.ErrNoTable) || f.r.Counts().Retried != before.Retried {
		t.Errorf("is %v, counts %+v", err, f.r.Counts())
	}
	ends(t, err, waybill.AttemptRetry)
}

func TestNoTable(t *testing.T) {
	t.Parallel()
	for _, v := range some() {
		t.Run(v.name+": the error says what to do", func(t *testing.T) {
			t.Parallel()
			s := v.bare(t, receipt.Options{})
			for name, way := range s.ways() {
				_, err := way(t.Context(), key("a"), never(t))
				if !errors.Is(err, receipt.ErrNoTable) || !strings.Contains(err.Error(), "run receipt.Migrate") {
					t.Errorf("%s: %v", name, err)
				}
				ends(t, err, waybill.AttemptRetry)
			}
			for name, f := range map[string]func() error{
				"Find":   func() error { _, err := s.r.Find(t.Context(), "pay", "a"); return err },
				"Scopes": func() error { _, err := s.r.Scopes(t.Context()); return err },
				"Force":  func() error { return s.r.Force(t.Context(), "pay", "a") },
				"Purge":  func() error { _, err := s.r.Purge(t.Context(), "pay", 0, nil); return err },
			} {
				if err := f(); !errors.Is(err, receipt.ErrNoTable) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}
