package main

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill/examples/internal/private"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	if err := order(context.Background(), rdb); err != nil {
		fmt.Println(err)
	}
	// Output:
	// urgent
	// newest
	// first
	// second
	// at a time that is past
	// background
	// in a second
}
