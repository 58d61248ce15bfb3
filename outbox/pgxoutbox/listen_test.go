package pgxoutbox_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/devsql"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/outbox/pgxoutbox"
)

// quiet is a pause between two looks that no test waits for.
const quiet = time.Minute

func TestListen(t *testing.T) {
	t.Parallel()
	server := sqltest.Start(t, outbox.PostgreSQL, devsql.Options{NoSync: true})
	d := sqltest.On(t, server)
	pool, err := pgxpool.New(t.Context(), d.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	sent := make(chan struct{}, 100)
	box, err := pgxoutbox.New(pool, outbox.Options{Notify: true, Poll: quiet, Tables: "shop_", Observe: func(e outbox.Event) {
		if e.Type == outbox.EventSent {
			sent <- struct{}{}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	if _, err := box.Migrate(t.Context(), outbox.Options{Tables: "shop_"}); err != nil {
		t.Fatal(err)
	}
	rdb, prefix := redistest.Shared(t)
	c, err := waybill.NewClient(rdb, waybill.ClientOptions{Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended, broke := make(chan error, 2), make(chan error, 100)
	go func() { ended <- box.Relay(ctx, c) }()
	go func() { ended <- pgxoutbox.Listen(ctx, d.DSN, box.Outbox, func(err error) { broke <- err }) }()
	enter := func(id string) {
		t.Helper()
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(box.Enqueue(t.Context(), tx, request(id)), tx.Commit(t.Context())); err != nil {
			t.Fatal(err)
		}
		select {
		case <-sent:
		case <-time.After(quiet / 2):
			t.Fatalf("%s is not sent, though its commit rang", id)
		}
	}
	enter("a")
	enter("b")
	if _, err := pool.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"); err != nil {
		t.Fatal(err)
	}
	if err := <-broke; err == nil {
		t.Error("a connection that broke is told without an error")
	}
	enter("c")
	stop()
	if err := errors.Join(<-ended, <-ended); err != nil {
		t.Error(err)
	}
}

func TestListen_badURL(t *testing.T) {
	t.Parallel()
	if err := pgxoutbox.Listen(t.Context(), "postgres://a b:secret@", nil, nil); !errors.Is(err, outbox.ErrInvalid) {
		t.Errorf("is %v", err)
	}
}
