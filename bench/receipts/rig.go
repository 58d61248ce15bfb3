package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/bench/internal/private"
	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/receipt"
)

// rig is a database with the rows and the receipts' tables.
type rig struct {
	dialect  dialect.Dialect
	db       *private.Database
	receipts *receipt.Receipts
	jobs     atomic.Int64
}

func newRig(ctx context.Context, d dialect.Dialect) (*rig, error) {
	r := &rig{dialect: d}
	if err := r.open(ctx); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *rig) open(ctx context.Context) (err error) {
	if r.db, err = private.Open(ctx, r.dialect); err != nil {
		return err
	}
	if err = r.db.Accounts(ctx); err != nil {
		return err
	}
	if _, err = receipt.Migrate(ctx, r.db.DB, r.dialect, receipt.Options{}); err != nil {
		return err
	}
	r.receipts, err = receipt.New(r.db.DB, r.dialect, receipt.Options{})
	return err
}

func (r *rig) close() {
	if r.db != nil {
		_ = r.db.Close() // a temporary folder
	}
}

func (r *rig) plain(ctx context.Context) error {
	return r.db.In(ctx, func(tx *sql.Tx) error { return r.db.Deposit(ctx, tx) })
}

// withReceipt is one job, as a worker would have it.
func (r *rig) withReceipt(ctx context.Context) error {
	id := fmt.Sprint("order-", r.jobs.Add(1))
	k := receipt.ForAttempt(&waybill.Attempt{
		ID: id, Queue: "pay", Kind: "add", Token: id + "/1", Payload: []byte(`{"amount":10}`), ClaimedAt: time.Now(),
	})
	k.Scope, k.Born = "pay", time.Now() // as in an attempt that a worker made
	_, err := r.receipts.Do(ctx, k, r.db.Deposit)
	return err
}

// rate runs f with so many clients, and gives how often a second it came through.
func (r *rig) rate(ctx context.Context, most time.Duration, clients int, f func(context.Context) error) (float64, error) {
	var n atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, clients)
	began := time.Now()
	for i := range clients {
		all.Go(func() {
			for errs[i] == nil && time.Since(began) < most {
				if errs[i] = f(ctx); errs[i] == nil {
					n.Add(1)
				}
			}
		})
	}
	all.Wait()
	return float64(n.Load()) / time.Since(began).Seconds(), errors.Join(errs...)
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

func list(ratios []float64) string {
	var all []string
	for _, r := range ratios {
		all = append(all, fmt.Sprintf("%.2f", r))
	}
	return strings.Join(all, " ")
}
