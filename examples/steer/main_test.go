package main

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill/examples/internal/private"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	if err := steer(context.Background(), rdb); err != nil {
		fmt.Println(err)
	}
	// Output:
	// paid: attempt 1, 0 failures
	// ended: <nil>
	// busy: attempt 1, 0 failures
	// busy: attempt 2, 1 failures
	// ended: <nil>
	// closed: attempt 1, 0 failures
	// closed: attempt 2, 0 failures
	// ended: <nil>
	// refused: attempt 1, 0 failures
	// ended: job order-17/refused in queue payments ended dead: card refused
	// withdrawn: attempt 1, 0 failures
	// ended: job order-17/withdrawn in queue payments ended cancelled: the order was withdrawn
	// broken: attempt 1, 0 failures
	// broken: attempt 2, 1 failures
	// broken: attempt 3, 2 failures
	// ended: job order-17/broken in queue payments ended dead: connection reset
}
