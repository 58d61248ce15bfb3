package main

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/outbox"
	"github.com/waybillhq/waybill/waybilltest"
)

func newShop(t *testing.T, client *waybill.Client) shop {
	t.Helper()
	s, err := open(t.Context(), filepath.Join(t.TempDir(), "shop.db"), client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	return s
}

// What a transaction entered is a row: neither relay nor Redis is needed to see it.
func TestOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	if err := s.order(t.Context(), 1, 500); err != nil {
		t.Fatal(err)
	}
	row, err := s.box.Row(t.Context(), "orders", "order-1/mail")
	if err != nil || row.State != outbox.RowNew || string(row.Request.Payload) != `{"Order":1}` {
		t.Errorf("row %+v, %v", row, err)
	}
	if err := s.order(t.Context(), 2, -500); err == nil {
		t.Error("an order of less than nothing was taken")
	}
	if _, err := s.box.Row(t.Context(), "orders", "order-2/mail"); !errors.Is(err, outbox.ErrNotFound) {
		t.Errorf("of an order that was rolled back: %v", err)
	}
}

// An event is a row too, of its topic.
func TestPlace(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	if err := s.place(t.Context(), 1, 500); err != nil {
		t.Fatal(err)
	}
	row, err := s.box.Row(t.Context(), "topic:placements", "order-1")
	if err != nil || row.State != outbox.RowNew || string(row.Request.Payload) != `{"Order":1}` {
		t.Errorf("row %+v, %v", row, err)
	}
	if err := s.place(t.Context(), 1, 500); err == nil {
		t.Error("an order was saved twice")
	}
}

// A relay carries the row to the Redis of the test, and its worker does the job.
func TestOrder_Whole(t *testing.T) {
	t.Parallel()
	env := waybilltest.New(t)
	s := newShop(t, env.Client)
	s.mailed = make(chan int, 1)
	confirmed.Handle(env.Worker, s.confirm)
	if err := s.order(t.Context(), 1, 500); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.box.Relay(ctx, env.Client) }()
	err := s.until(t.Context(), func(q outbox.QueueStats) bool { return q.Sent == 1 })
	stop()
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
	env.WorkAll()
	if order := <-s.mailed; order != 1 {
		t.Errorf("mail for order %d", order)
	}
}
