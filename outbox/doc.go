// Package outbox enqueues jobs in the caller's own SQL transaction: a row that is committed is a job that is accepted once,
// a row that is rolled back never is one. "Save the order and enqueue its mail" is one fact.
//
//	box, err := outbox.New(db, outbox.PostgreSQL, outbox.Options{})
//	…
//	tx, err := db.BeginTx(ctx, nil)
//	… // the order
//	err = box.Enqueue(ctx, tx, Mail.Request(MailArgs{Order: 17}, waybill.ID("order-17/mail")))
//	err = tx.Commit()
//
// A relay carries the rows to Redis, in a process of the caller's ([Outbox.Relay]) or as the command `waybill outbox relay`.
// Any number may run. It sends a row until the queue has answered: accepted, or known already, under the ID that the row has
// from the start. Then the row stays until the job was acked, cancelled or deleted, and is purged later. So the database
// knows every unfinished job: where Redis lost its data, [Outbox.Replay] brings them back.
//
// Tables: [Migrate], or `waybill migrate`. Transactions of pgx: package pgxoutbox.
package outbox
