package beside_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/migrate/asynq/beside"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sends records the users to whom mail was sent. User 13 is gone.
func sends(sent chan<- int) beside.Send {
	return func(_ context.Context, user int) error {
		sent <- user
		if user == 13 {
			return beside.ErrNoUser
		}
		return nil
	}
}

// each wants one mail to each of the two users, whatever the order.
func each(t *testing.T, sent <-chan int) {
	t.Helper()
	sum := 0
	for range 2 {
		select {
		case user := <-sent:
			sum += user
		case <-time.After(30 * time.Second):
			t.Fatal("no mail for 30 s")
		}
	}
	if sum != 7+13 || len(sent) != 0 {
		t.Errorf("users add up to %d, %d more mails", sum, len(sent))
	}
}

func TestAsynq(t *testing.T) {
	t.Parallel()
	conn, err := asynq.ParseRedisURI(redistest.Start(t, redistest.TCP()).URL())
	must(t, err)
	client := asynq.NewClient(conn)
	defer client.Close()
	for _, user := range []int{7, 7, 13} {
		must(t, beside.EnqueueAsynq(client, user))
	}
	sent := make(chan int, 10)
	server, err := beside.ServeAsynq(conn, sends(sent))
	must(t, err)
	each(t, sent)
	server.Shutdown()
	inspector := asynq.NewInspector(conn)
	defer inspector.Close()
	info, err := inspector.GetQueueInfo("mail")
	if err != nil || info.Archived != 1 || info.Completed != 1 {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestWaybill(t *testing.T) {
	t.Parallel()
	client, err := waybill.NewClient(redistest.Start(t, redistest.TCP()).Client(), waybill.ClientOptions{})
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for _, user := range []int{7, 7, 13} {
		must(t, beside.Enqueue(ctx, client, user))
	}
	sent, ended := make(chan int, 10), make(chan error)
	go func() { ended <- beside.Serve(ctx, client, sends(sent)) }()
	each(t, sent)
	stop()
	must(t, <-ended)
	stats, err := client.Queue("mail").Stats(t.Context())
	if err != nil || stats.Dead != 1 || stats.Completed != 1 || stats.Duplicates != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
	if _, err := client.Enqueue(t.Context(), waybill.Request{Queue: "mail", Kind: "other", ID: "user-7/welcome"}); !errors.Is(err, waybill.ErrConflict) {
		t.Errorf("other work under the same ID: %v", err)
	}
}
