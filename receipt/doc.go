// Package receipt makes an effect in a SQL database happen once, however often its job is delivered.
//
// A queue can promise that a job is delivered at least once, and no more: a worker may die after its work and before it
// could say so. So the proof that the work is done is kept where the work is: a receipt is a row that is written in the
// same transaction as the effect. Both are committed, or neither is. A second delivery finds the receipt, applies nothing,
// and gets the result of the first.
//
//	receipts, err := receipt.New(db, receipt.PostgreSQL, receipt.Options{})
//	…
//	addToTotal.Handle(worker, func(ctx context.Context, job *waybill.Job[add]) error {
//		_, err := receipts.Do(ctx, receipt.For(job), func(ctx context.Context, tx *sql.Tx) error {
//			_, err := tx.ExecContext(ctx, "UPDATE account SET total = total + $1", job.Args.Amount)
//			return err
//		})
//		return err
//	})
//
// [Receipts.Do] and [DoResult] open the transaction, run it again where the database asks for it, and commit it.
// [Receipts.InTx] and [InTxResult] work in a transaction that the caller holds. Package pgxreceipt has the same for pgx.
// [Migrate] makes the tables. Systems that cannot join a transaction are for [Operation].
//
// An ID names its work for ever: yesterday's receipt suppresses today's job of the same ID, in the same queue. A receipt may
// be purged ([Receipts.Purge], by default after 30 days); a job that is older than what was purged, and has no receipt, is
// refused with [ErrHorizon] instead of being applied, perhaps once more.
package receipt
