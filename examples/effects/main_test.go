package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/waybillhq/waybill/examples/internal/private"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	dir, err := os.MkdirTemp("", "effects-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), rdb, filepath.Join(dir, "bank.db")); err != nil {
		fmt.Println(err)
	}
	// Output:
	// deposit, attempt 1: applied
	// deposit, attempt 2: replayed
	// deposit, attempt 1: applied
	// deposit, attempt 2: replayed
	// invoice 1, attempt 1: applied
	// invoice 1, attempt 2: replayed
	// the order has invoice 1
	// from-the-shop, attempt 1: applied
	// from-the-shop, attempt 2: replayed
	// from-the-bank, attempt 1: replayed
	// from-the-bank, attempt 2: replayed
	// 10 deliveries, 4 effects, 6 suppressed: 2500 cents, 1 invoice
}
