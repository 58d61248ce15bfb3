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
	dir, err := os.MkdirTemp("", "outbox-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := run(context.Background(), rdb, filepath.Join(dir, "shop.db")); err != nil {
		fmt.Println(err)
	}
	// Output:
	// mail for order 1
	// order 2: an order of less than nothing
	// queue orders was lost: 1 job sent again
	// mail for order 3
	// bill for order 4
}
