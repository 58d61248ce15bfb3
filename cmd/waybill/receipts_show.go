package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/receipt"
)

func (a *app) receiptsShowCommand(f *databaseFlags) *cobra.Command {
	return &cobra.Command{
		Use: "show QUEUE ID", Short: "Show receipts and operations of a job and its steps", Args: between(2, 2),
		Long: `Show prints the receipts and operations of a job and of its steps, or of a business key: when the effect was applied and
by which attempt; how a call to another system stands, with its idempotency key, how often it was called, and the answer.

States of operations:
  intended  saved; a call may be under way, or was not answered
  pending   taken by the other side      busy      not taken: it will be called again
  answered  done there; the job's next attempt makes the effect here
  done      for good                     refused   for good
  unknown   not answered: ask the other side, then receipts resolve

Exit status: 9 where there is neither. Times are the database's; born is Redis's.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onReceipts(cmd, f, args[:1], func(ctx context.Context, r *receipt.Receipts) error {
				return a.receiptsShow(ctx, r, args[0], args[1])
			})
		},
		ValidArgsFunction: a.completeQueue,
	}
}

func (a *app) receiptsShow(ctx context.Context, r *receipt.Receipts, queue, id string) error {
	receipts, err := r.Find(ctx, queue, id)
	if err != nil {
		return err
	}
	operations, err := r.FindOperations(ctx, queue, id)
	if err != nil {
		return err
	}
	if len(receipts)+len(operations) == 0 {
		return a.nothingOf(ctx, r, queue, id)
	}
	var all []effectObject
	for _, o := range operations {
		all = append(all, ofOperation(o))
	}
	for _, i := range receipts {
		all = append(all, ofReceipt(i))
	}
	return a.printEffects(all)
}

// nothingOf says what it means that a job has no receipt.
func (a *app) nothingOf(ctx context.Context, r *receipt.Receipts, queue, id string) error {
	purged, err := r.PurgedBefore(ctx, queue)
	if err != nil {
		return err
	}
	scopes, err := r.Scopes(ctx)
	if err != nil {
		return err
	}
	text := "its effect was not applied"
	if purged.IsZero() && !slices.Contains(scopes, queue) {
		text = "nothing at all is kept of that queue: check its name"
	}
	if !purged.IsZero() {
		text = fmt.Sprintf("if it was born before %s they may have been purged, else its effect was not applied", purged.UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("%w: neither receipt nor operation of %q in queue %s: %s", errNoEffect, id, queue, text)
}

// errNoEffect: a job has neither receipt nor operation.
var errNoEffect = errors.New("not found")

// effectObject is the object of a receipt or an operation.
type effectObject struct {
	Type           string  `json:"type"` // receipt, operation
	Queue          string  `json:"queue"`
	ID             string  `json:"id"` // the key
	Job            string  `json:"job"`
	Step           *string `json:"step"`
	State          string  `json:"state"`
	Calls          *int    `json:"calls"`
	IdempotencyKey *string `json:"idempotency_key"`
	Request        *string `json:"request"`
	RequestBase64  *string `json:"request_base64"`
	Result         *string `json:"result"`
	ResultBase64   *string `json:"result_base64"`
	Reason         *string `json:"reason"`
	Token          string  `json:"token"`
	Fingerprint    *string `json:"fingerprint"`
	BornAt         *string `json:"born_at"`
	AppliedAt      *string `json:"applied_at"`
	IntendedAt     *string `json:"intended_at"`
	CalledAt       *string `json:"called_at"`
	AnsweredAt     *string `json:"answered_at"`
}

func ofReceipt(i receipt.Info) effectObject {
	print := hex.EncodeToString(i.Fingerprint)
	o := effectObject{
		Type: "receipt", Queue: i.Scope, ID: i.ID, Job: i.Job, Step: stepOf(i.ID, i.Job), State: "applied", Token: i.Token,
		Fingerprint: &print, BornAt: stampOf(i.Born), AppliedAt: stampOf(i.AppliedAt),
	}
	o.Result, o.ResultBase64 = textOrBase64(i.Result)
	return o
}

func ofOperation(i receipt.OperationInfo) effectObject {
	o := effectObject{
		Type: "operation", Queue: i.Scope, ID: i.ID, Job: i.Job, Step: stepOf(i.ID, i.Job), State: string(i.State), Calls: &i.Calls,
		IdempotencyKey: &i.IdempotencyKey, Reason: orNil(i.Reason), Token: i.Token, BornAt: stampOf(i.Born),
		IntendedAt: stampOf(i.IntendedAt), CalledAt: stampOf(i.CalledAt), AnsweredAt: stampOf(i.AnsweredAt),
	}
	o.Request, o.RequestBase64 = textOrBase64(i.Request)
	o.Result, o.ResultBase64 = textOrBase64(i.Answer)
	return o
}

func stepOf(id, job string) *string {
	step, _ := strings.CutPrefix(id, job+" ")
	if step == id {
		return nil
	}
	return &step
}

func stampOf(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(stampFormat)
	return &s
}

func textOrBase64(b []byte) (text, encoded *string) {
	s := string(b)
	switch {
	case b == nil:
		return nil, nil
	case utf8.ValidString(s):
		return &s, nil
	}
	s = base64.StdEncoding.EncodeToString(b)
	return nil, &s
}
