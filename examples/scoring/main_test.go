package main

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill/examples/internal/private"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	tables := []table{{"amount,visits\n120,3\n15,40\n"}, {"amount,visits\n0,0\n"}, {"amount,visits\nmuch,0\n"}, {""}}
	if err := run(context.Background(), rdb, tables); err != nil {
		fmt.Println(err)
	}
	// Output:
	// [0.378 0.896] dead: false
	// [0.119] dead: false
	// [] dead: true
	// [] dead: true
}
