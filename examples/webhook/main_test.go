package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/examples/internal/private"
	"github.com/waybillhq/waybill/internal/outside"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	secret := []byte("a secret")
	server, err := outside.StartHooks(context.Background(), secret, outside.Options{Trouble: map[string]outside.Trouble{
		"webhook.post/order-2/shipped": outside.Busy, // and says: in a second
		"webhook.post/order-3/shipped": outside.Refused,
	}})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	began := time.Now()
	if err := webhook(context.Background(), rdb, sender{secret}, server.URL()); err != nil {
		fmt.Println(err)
	}
	fmt.Println("a second was waited:", time.Since(began) >= time.Second)
	fmt.Println(server.Done()["webhook.post/order-1/shipped"])
	// Output:
	// order-1/shipped: attempt 1, <nil>
	// order-2/shipped: attempt 2, <nil>
	// order-3/shipped: attempt 1, job order-3/shipped in queue webhooks ended dead: the receiver answered 410 Gone
	// a second was waited: true
	// {"type":"order.shipped","order":"order-1"}
}

// TestRedirect: who follows a redirect asks another address by GET, and takes its answer for that of the receiver.
func TestRedirect(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	receiver := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusFound))
	t.Cleanup(receiver.Close)
	job := &waybill.Job[event]{Args: event{receiver.URL, []byte("{}")}, Attempt: &waybill.Attempt{ID: "id", Kind: "k"}}
	if err := (sender{secret: []byte("a secret")}).post(t.Context(), job); err == nil || err.Error() != "the receiver answered 302 Found" {
		t.Errorf("the event counts as posted, or: %v", err)
	}
}
