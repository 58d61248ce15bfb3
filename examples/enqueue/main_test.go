package main

import (
	"context"
	"fmt"

	"github.com/waybillhq/waybill/examples/internal/private"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	if err := enqueue(context.Background(), rdb); err != nil {
		fmt.Println(err)
	}
	// Output:
	// accepted: the job is taken
	// duplicate: the job is taken
	// conflict: a mistake of the program: job user-7/welcome in queue mail: the id is taken by other work: another kind or payload
	// accepted: the job is taken
	// accepted: the job is taken
	// accepted: the job is taken
	// rejected: 4 of 4: come later, or spill
	// spilled: the job is taken
	// rejected: 5 of 4: come later, or spill
	// invalid: a mistake of the program: priority: is 5000: from -1000 to 1000
}
