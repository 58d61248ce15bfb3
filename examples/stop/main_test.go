package main

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill/examples/internal/private"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	if err := stop(context.Background(), rdb); err != nil {
		fmt.Println(err)
	}
	// Output:
	// attempt 1 begins at file 1
	// packed file 1
	// packed file 2
	// attempt 2 begins at file 3
	// packed file 3
	// packed file 4
	// packed file 5
	// 1 completed, 1 snoozed, 0 failures
}
