package main

import (
	"context"
	"fmt"
	"time"

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
