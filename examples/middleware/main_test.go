package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/waybillhq/waybill/examples/internal/private"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	withoutTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	if err := run(context.Background(), rdb, logger); err != nil {
		fmt.Println(err)
	}
	// Output:
	// level=INFO msg=attempt job=user-7/welcome number=1 trace=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 error=<nil>
}
