package main

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill/examples/internal/private"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	if err := run(context.Background(), rdb); err != nil {
		fmt.Println(err)
	}
	// Output:
	// order-1 accepted
	// order-2 accepted
	// order-1 duplicate
	// analytics: order 1
	// analytics: order 2
	// billing: 995 cents for order 1
	// billing: order 2 can't be billed
	// mail: order 1 is confirmed
	// mail: order 2 is confirmed
	// 2 events replayed
	// analytics: order 1, again by recount-1
	// analytics: order 2, again by recount-1
}
