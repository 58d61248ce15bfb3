package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/waybillhq/waybill/examples/internal/private"
)

// TestMain is a worker where the example has started the test binary as one.
func TestMain(m *testing.M) {
	if _, ok := workerOf(os.Getenv(envWorker)); ok {
		main()
		return
	}
	os.Exit(m.Run())
}

func Example() {
	rdb, end := private.Redis()
	defer end()
	if err := steps(context.Background(), rdb); err != nil {
		fmt.Println(err)
	}
	// Output:
	// killed: charge was called, and its answer not saved
	// attempt 2: charge applied
	// killed: ship was called, and its answer not saved
	// attempt 3: charge replayed
	// attempt 3: ship applied, parcel of order.fulfil/order-17/ship
	// attempt 3: mail applied
	// 1 charge, 1 parcel, 1 mail
}
