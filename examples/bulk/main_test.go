package main

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill/examples/internal/private"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	if err := bulk(context.Background(), rdb); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 of 4 jobs were not taken; first: job order-2/invoice in queue billing: the id is taken by other work: another kind or payload
	// order-1/invoice in billing: accepted
	// order-2/invoice in billing: accepted
	// order-1/invoice in billing: duplicate
	// order-2/invoice in billing: conflict
	// order-3/invoice in billing: accepted
	// import-1/note in notes: accepted
	// import 1 note in notes: invalid
	// invalid among them: true
}
