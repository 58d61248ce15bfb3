package main

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill/examples/internal/private"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	if err := wait(context.Background(), rdb); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1250 <nil>
	// true true
}
