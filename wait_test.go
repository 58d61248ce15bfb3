package waybill_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
)

// double is a kind with a result.
var double = waybill.DefineResult[number, number]("double", waybill.KindOptions{Retention: time.Hour})

func runDouble(t *testing.T, c *waybill.Client) {
	t.Helper()
	w := newWorker(t, c, waybill.WorkerOptions{})
	double.Handle(w, func(_ context.Context, job *waybill.Job[number]) (number, error) {
		switch job.Args.N {
		case -1:
			return number{}, waybill.Dead(errors.New("no doubling of -1"))
		case -2:
			return number{}, waybill.Cancel("not wanted")
		}
		return number{2 * job.Args.N}, nil
	})
	start(t, w)
}

func TestWait(t *testing.T) {
	t.Parallel()
	c := shared(t)
	runDouble(t, c)
	send := func(t *testing.T, n int, o ...waybill.EnqueueOption) string {
		t.Helper()
		e, err := double.Enqueue(t.Context(), c, number{n}, o...)
		if err != nil {
			t.Fatal(err)
		}
		return e.ID
	}
	ended := func(t *testing.T, err, sentinel error, state waybill.State) *waybill.EndedError {
		t.Helper()
		var e *waybill.EndedError
		if !errors.As(err, &e) || !errors.Is(err, sentinel) || e.State != state {
			t.Fatalf("%v, want %v, state %s", err, sentinel, state)
		}
		return e
	}
	t.Run("the result comes typed", func(t *testing.T) {
		if got, err := double.Wait(t.Context(), c, send(t, 21)); err != nil || got.N != 42 {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("a job that ended before is answered too", func(t *testing.T) {
		id := send(t, 4)
		await(t, c, "", id, waybill.StateCompleted)
		if got, err := double.Wait(t.Context(), c, id); err != nil || got.N != 8 {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("dead, with the last error", func(t *testing.T) {
		_, err := double.Wait(t.Context(), c, send(t, -1))
		if e := ended(t, err, waybill.ErrDead, waybill.StateDead); e.LastError != "no doubling of -1" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("cancelled by its handler, with the reason", func(t *testing.T) {
		_, err := double.Wait(t.Context(), c, send(t, -2))
		if e := ended(t, err, waybill.ErrCancelled, waybill.StateCancelled); e.Reason != "not wanted" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("cancelled and deleted by an operator, while waited for", func(t *testing.T) {
		for _, how := range []struct {
			do    func(id string) error
			is    error
			state waybill.State
		}{
			{func(id string) error { return c.Queue("").Cancel(t.Context(), id, "changed my mind") }, waybill.ErrCancelled, waybill.StateCancelled},
			{func(id string) error { return c.Queue("").Delete(t.Context(), id, waybill.DeleteOptions{}) }, waybill.ErrDeleted, waybill.StateDeleted},
		} {
			id := send(t, 1, waybill.After(time.Hour))
			said := make(chan error)
			go func() {
				_, err := double.Wait(t.Context(), c, id)
				said <- err
			}()
			if err := how.do(id); err != nil {
				t.Fatal(err)
			}
			_ = ended(t, <-said, how.is, how.state)
		}
	})
	t.Run("unknown: not found", func(t *testing.T) {
		if _, err := double.Wait(t.Context(), c, "never"); !errors.Is(err, waybill.ErrNotFound) {
			t.Error(err)
		}
	})
	t.Run("without retention there is no result, and a kind without result does not mind", func(t *testing.T) {
		id := send(t, 1, waybill.Retention(0))
		if _, err := double.Wait(t.Context(), c, id); !errors.Is(err, waybill.ErrNoResult) {
			t.Error(err)
		}
		if err := waybill.Define[number]("double", waybill.KindOptions{}).Wait(t.Context(), c, id); err != nil {
			t.Error(err)
		}
	})
	t.Run("nil bytes are a result, and each who waits has its own", func(t *testing.T) {
		raw := waybill.DefineResult[number, []byte]("raw", waybill.KindOptions{Queue: "raw", Retention: time.Hour})
		w := newWorker(t, c, waybill.WorkerOptions{})
		raw.Handle(w, func(_ context.Context, job *waybill.Job[number]) ([]byte, error) {
			if job.Args.N == 0 {
				return nil, nil
			}
			return []byte("result"), nil
		})
		start(t, w)
		if got, err := raw.Call(t.Context(), c, number{0}); err != nil || len(got) != 0 {
			t.Errorf("%q, %v", got, err)
		}
		e, err := raw.Enqueue(t.Context(), c, number{1}, waybill.After(100*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		results := make(chan []byte)
		for range 2 {
			go func() {
				got, _ := raw.Wait(t.Context(), c, e.ID)
				results <- got
			}()
		}
		one, other := <-results, <-results
		one[0] = 'X'
		if string(other) != "result" {
			t.Errorf("%q", other)
		}
	})
	t.Run("Call keeps the result long enough", func(t *testing.T) {
		if got, err := double.Call(t.Context(), c, number{5}, waybill.Retention(0)); err != nil || got.N != 10 {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("a context that ends is told, and the job stays", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		id := send(t, 1, waybill.After(time.Hour))
		if _, err := double.Wait(ctx, c, id); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		await(t, c, "", id, waybill.StateScheduled)
	})
}

// soon expects that one of three rounds takes no longer than d: a busy machine may spoil any one.
func soon(t *testing.T, d time.Duration, round func()) {
	t.Helper()
	var took []time.Duration
	for range 3 {
		began := time.Now()
		round()
		took = append(took, time.Since(began))
		if slices.Min(took) <= d {
			return
		}
	}
	t.Errorf("none of three rounds took %s or less: %s", d, took)
}

func TestWait_NoticesLost(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	c := newClient(t, srv.Client(), "wb")
	runDouble(t, c)
	t.Run("where pub/sub is forbidden a wait takes a second or so", func(t *testing.T) {
		deaf := srv.Client()
		if err := deaf.Do(t.Context(), "ACL", "SETUSER", "deaf", "on", ">x", "~*", "+@all", "-subscribe").Err(); err != nil {
			t.Fatal(err)
		}
		deaf.Options().Username, deaf.Options().Password = "deaf", "x"
		d := newClient(t, deaf, "wb")
		t.Cleanup(func() { _ = d.Close() })
		soon(t, 3*time.Second, func() {
			e, err := double.Enqueue(t.Context(), d, number{3}, waybill.After(200*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := double.Wait(t.Context(), d, e.ID); err != nil || got.N != 6 {
				t.Errorf("%v, %v", got, err)
			}
		})
	})
	t.Run("with notices it takes no poll", func(t *testing.T) {
		soon(t, 2*time.Second, func() { // by the timer alone it would be 10 s
			for range 10 {
				if _, err := double.Call(t.Context(), c, number{1}); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
}
