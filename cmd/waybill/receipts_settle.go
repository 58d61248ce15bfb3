package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/receipt"
)

func (a *app) receiptsForceCommand(f *databaseFlags) *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use: "force QUEUE ID [STEP]", Short: "Let a job through that is older than what was purged", Args: between(2, 3),
		Long: `Force lets the effect of a job be applied once although receipts of its age were purged. Whoever forces says: this effect
was not applied. Look into the data first: if it was, it is applied a second time. Then requeue the dead job. The permit is
used up by the transaction that applies the effect. A job with steps has one effect each: force those that are missing.`,
		Example: "  waybill receipts force payments order-17 charge && waybill job requeue payments order-17",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkAsk(cmd, yes); err != nil {
				return err
			}
			return a.onReceipts(cmd, f, args[:1], func(ctx context.Context, r *receipt.Receipts) error {
				return a.force(ctx, r, args, yes)
			})
		},
		ValidArgsFunction: a.completeQueue,
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// checkAsk refuses what nobody can be asked about.
func (a *app) checkAsk(cmd *cobra.Command, yes bool) error {
	if yes || a.canAsk() {
		return nil
	}
	return usage(cmd, "this needs a yes, and there is no terminal to ask on: give --yes")
}

func (a *app) force(ctx context.Context, r *receipt.Receipts, args []string, yes bool) error {
	queue, key := args[0], keyOf(args[1], args[2:])
	if err := unforced(ctx, r, queue, key); err != nil {
		return err
	}
	if !yes {
		if err := a.ask(ctx, fmt.Sprintf("Apply the effect %q of queue %s, which was not applied so far?", key, queue)); err != nil {
			return err
		}
	}
	if err := r.Force(ctx, queue, key); err != nil {
		return err
	}
	return a.settled(args, "force", "forced")
}

// unforced says why an effect needs no force, or nothing.
func unforced(ctx context.Context, r *receipt.Receipts, queue, key string) error {
	purged, err := r.PurgedBefore(ctx, queue)
	if err != nil {
		return err
	}
	if purged.IsZero() {
		return fmt.Errorf("%w: nothing of queue %s was purged", errApplied, queue)
	}
	found, err := r.Find(ctx, queue, key)
	if err != nil {
		return err
	}
	for _, i := range found {
		if i.ID == key {
			return fmt.Errorf("%w: %q in queue %s was applied at %s", errApplied, key, queue, *stampOf(i.AppliedAt))
		}
	}
	operations, err := r.FindOperations(ctx, queue, key)
	if err != nil {
		return err
	}
	for _, o := range operations {
		if o.ID == key {
			return fmt.Errorf("%w: operation %q in queue %s is %s", errApplied, key, queue, o.State)
		}
	}
	return nil
}

// errApplied: there is a receipt or an operation, or nothing was purged.
var errApplied = errors.New("no force is needed")

// resolveFlags are what a person says.
type resolveFlags struct {
	done, refused, again string
	yes                  bool
}

func (a *app) receiptsResolveCommand(f *databaseFlags) *cobra.Command {
	said := &resolveFlags{}
	cmd := &cobra.Command{
		Use: "resolve QUEUE ID [STEP]", Short: "Say what became of an operation that was not answered", Args: between(2, 3),
		Long: `Resolve settles an operation that waits for a person (state unknown). First ask the other side, by the idempotency key
that receipts show tells, what became of the call. Then say one of:
  --done JSON       it happened, with this result, as the program has it ({} where it has none)
  --refused REASON  it did not happen, and is not to
  --again WHY       it did not happen, and may be called again, with the same key; the key's lifetime counts anew
and requeue the dead job: job requeue QUEUE ID. What the other side has answered itself stands.

Exit status: 4 where it has an answer, or a call may be under way (not with --done), 9 where there is no such operation.`,
		Example: `  waybill receipts resolve payments order-17 charge --done '{"Charge":"ch_1"}' && waybill job requeue payments order-17`,
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := said.resolution(cmd)
			if err == nil {
				err = a.checkAsk(cmd, said.yes)
			}
			if err != nil {
				return err
			}
			return a.onReceipts(cmd, f, args[:1], func(ctx context.Context, r *receipt.Receipts) error {
				if err := a.askResolve(ctx, args, to, said.yes); err != nil {
					return err
				}
				if err := r.Resolve(ctx, args[0], keyOf(args[1], args[2:]), to); err != nil {
					return err
				}
				return a.settled(args, "resolve", wordFor(to))
			})
		},
		ValidArgsFunction: a.completeQueue,
	}
	v := cmd.Flags()
	v.StringVar(&said.done, "done", "", "it happened, with this result, as `JSON`")
	v.StringVar(&said.refused, "refused", "", "it did not happen and is not to: the `REASON`")
	v.StringVar(&said.again, "again", "", "it did not happen, call again: `WHY` you know")
	v.BoolVar(&said.yes, "yes", false, "do not ask")
	return cmd
}

// resolution is what was said, which has to be one thing.
func (f *resolveFlags) resolution(cmd *cobra.Command) (receipt.Resolution, error) {
	to := receipt.Resolution{Refused: f.refused, Again: f.again}
	if cmd.Flags().Changed("done") {
		to.Done = json.RawMessage(f.done)
	}
	if n := countTrue(to.Done != nil, f.refused != "", f.again != ""); n != 1 {
		return to, usage(cmd, "give one of --done, --refused and --again, not empty")
	}
	if to.Done != nil && !json.Valid(to.Done) {
		return to, usage(cmd, "--done is no JSON: give the result as the program has it, {} where it has none")
	}
	return to, nil
}

func countTrue(all ...bool) (n int) {
	for _, b := range all {
		if b {
			n++
		}
	}
	return n
}

// wordFor is a resolution in a word or two.
func wordFor(to receipt.Resolution) string {
	switch {
	case to.Done != nil:
		return "done"
	case to.Again != "":
		return "to be called again"
	}
	return "refused"
}

func (a *app) askResolve(ctx context.Context, args []string, to receipt.Resolution, yes bool) error {
	if yes {
		return nil
	}
	return a.ask(ctx, fmt.Sprintf("Is operation %q of queue %s %s? It can't be taken back once the job has run.",
		keyOf(args[1], args[2:]), args[0], wordFor(to)))
}

// settledObject is the object of a force or a resolution.
type settledObject struct {
	Queue  string  `json:"queue"`
	ID     string  `json:"id"`
	Step   *string `json:"step"`
	Change string  `json:"change"`
	To     string  `json:"to"`
}

// settled tells what was done, and what to do next.
func (a *app) settled(args []string, change, to string) error {
	if a.json {
		return printJSON(a.stdout, settledObject{args[0], args[1], orNil(stepArgument(args)), change, to})
	}
	_, err := fmt.Fprintf(a.stdout, "%s of queue %s: %s; next: waybill job requeue %s %s\n",
		oneLine(keyOf(args[1], args[2:])), args[0], to, args[0], oneLine(args[1]))
	return err
}
