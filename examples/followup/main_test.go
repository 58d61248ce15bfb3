package main

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill/examples/internal/private"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	if err := followUp(context.Background(), rdb); err != nil {
		fmt.Println(err)
	}
	// Output:
	// shipped, attempt 1: order-17/invoice accepted
	// shipped, attempt 2: order-17/invoice duplicate
	// invoices: 1
}
