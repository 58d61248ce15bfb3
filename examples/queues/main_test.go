package main

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill/examples/internal/private"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	if err := queues(context.Background(), rdb); err != nil {
		fmt.Println(err)
	}
	// Output:
	// urgent: completed, 50 % half of orders
	// exports: completed, 50 % half of orders
	// tenant-7: completed, 50 % half of orders
	// done: 3
}
