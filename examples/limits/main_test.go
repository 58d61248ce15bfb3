package main

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill/examples/internal/private"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	if err := limits(context.Background(), rdb); err != nil {
		fmt.Println(err)
	}
	// Output:
	// line 1: accepted, <nil>
	// line 2: accepted, <nil>
	// line 3: rejected, the queue holds 2 of 2
	// line 4: rejected, the queue holds 2 of 2
	// line 5: spilled, <nil>
	// 2 ready, 1 spilled, 3 live
	// line 6 is taken: true, <nil>
	// 4 done, 0 live
}
