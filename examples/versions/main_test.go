package main

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill/examples/internal/private"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	if err := versions(context.Background(), rdb); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Lovelace, Ada (version 1)
	// Hopper, Grace (version 2)
}
