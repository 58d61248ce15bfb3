package fault_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
)

// TestS22_valuesUnchanged: numbers in every spelling, nested and empty values and odd characters come back byte for
// byte, through delay, snooze, retry, death, requeue and as a result.
func TestS22_valuesUnchanged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	echo := waybill.DefineResult[json.RawMessage, json.RawMessage]("echo", waybill.KindOptions{
		Queue: queue, Retention: time.Hour, Retry: waybill.Fixed(time.Millisecond), MaxFailures: 2,
	})
	w, err := waybill.NewWorker(r.client, waybill.WorkerOptions{})
	must(t, err)
	echo.Handle(w, func(_ context.Context, job *waybill.Job[json.RawMessage]) (json.RawMessage, error) {
		switch {
		case job.Number == 1:
			return nil, waybill.Snooze(time.Millisecond)
		case job.Number <= 3: // a retry, then dead
			return nil, errors.New(string(job.Args))
		}
		return job.Args, nil
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	for _, payload := range []string{
		`9007199254740993`, `-9223372036854775808`, `1.0`, `1e-7`, `1e400`, `[]`, `{}`, `null`, `""`,
		`{"a":{"b":[9007199254740993,1.0,1e400]}}`, strings.Repeat("[", 50) + strings.Repeat("]", 50),
		`"\u0000 and a raw 🙂 and \ud83d\ude42"`, "{ \"spaces\" :\t1 }",
	} {
		e, err := echo.Enqueue(t.Context(), r.client, json.RawMessage(payload), waybill.After(10*time.Millisecond))
		must(t, err)
		if _, err := echo.Wait(t.Context(), r.client, e.ID); !errors.Is(err, waybill.ErrDead) {
			t.Errorf("%s: %v", payload, err)
		}
		dead, err := r.beside.Queue(queue).Get(t.Context(), e.ID)
		must(t, err)
		if string(dead.Payload) != payload || len(dead.Errors) == 0 || dead.Errors[0].Message != payload {
			t.Errorf("dead: payload %s, errors %+v; want %s", dead.Payload, dead.Errors, payload)
		}
		must(t, r.beside.Queue(queue).Requeue(t.Context(), e.ID))
		if got, err := echo.Wait(t.Context(), r.client, e.ID); err != nil || string(got) != payload {
			t.Errorf("result %s, %v; want %s", got, err, payload)
		}
	}
	cancel()
	must(t, <-ended)
}
