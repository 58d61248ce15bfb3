package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/waybillhq/waybill/examples/internal/private"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	dir, err := os.MkdirTemp("", "verify")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := verify(context.Background(), rdb, filepath.Join(dir, "history.jsonl")); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 3 jobs, 3 deliveries, 0 lost, clean: true
}

func Example_violated() {
	_ = tell(os.Stdout, strings.NewReader(`{"op":"attempt","queue":"mail","job":"x","number":1,"done":2000}`))
	// Output:
	// 1 jobs, 1 deliveries, 0 lost, clean: false
	// I2: job x in queue mail: nobody enqueued it, line 1
}
