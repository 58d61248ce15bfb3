package main

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/examples/internal/private"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRun(t *testing.T) {
	t.Chdir(t.TempDir())
	rdb, end := private.Redis()
	defer end()
	url := "redis://" + rdb.Options().Addr
	if rdb.Options().Network == "unix" {
		url = "unix://" + rdb.Options().Addr
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- run(ctx, url, nil) }()
	t.Run("without a card the job is dead at the third failure", func(t *testing.T) {
		if err := run(ctx, url, []string{"Ann"}); !errors.Is(err, waybill.ErrDead) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("with a card a name is greeted", func(t *testing.T) {
		must(t, os.WriteFile("card.txt", []byte("Dear NAME\n"), 0o600))
		must(t, run(ctx, url, []string{"Bob"}))
	})
	stop()
	must(t, <-ended)
}
