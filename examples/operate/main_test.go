package main

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill/examples/internal/private"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	if err := operate(context.Background(), rdb); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 2 ready, paused by ann, until the disk is larger
	// <nil>
	// job march in queue reports ended dead: disk is full
	// requeued: march disk is full
	// <nil>
	// job january in queue reports ended cancelled: nobody reads it
	// job february in queue reports ended deleted
}
