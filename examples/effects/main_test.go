package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/waybillhq/waybill"
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

// A handler with receipts is tested without Redis: two attempts of one job, on a database in a temporary directory.
func TestDeposit_Twice(t *testing.T) {
	t.Parallel()
	b, err := open(t.Context(), filepath.Join(t.TempDir(), "bank.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer b.db.Close()
	for n := 2; n <= 3; n++ { // the first is the one that dies
		attempt := &waybill.Attempt{ID: "deposit-1", Kind: "deposit.add", Number: n, Token: fmt.Sprint(n)}
		if err := b.deposit(t.Context(), &waybill.Job[deposit]{Attempt: attempt, Args: deposit{1000}}); err != nil {
			t.Fatal(err)
		}
	}
	var cents int
	if err := b.db.QueryRowContext(t.Context(), "SELECT cents FROM account").Scan(&cents); err != nil || cents != 1000 {
		t.Errorf("%d cents, %v", cents, err)
	}
}
