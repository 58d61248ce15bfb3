// Package waybill is a job queue on Redis. Taking a job is not finishing it: a job leaves the queue
// only when the attempt that holds it hands in proof.
//
// A kind is declared once, for both sides:
//
//	var Welcome = waybill.Define[WelcomeArgs]("email.welcome", waybill.KindOptions{Queue: "mail"})
//
// A producer enqueues, and is told what became of the job:
//
//	enq, err := Welcome.Enqueue(ctx, client, WelcomeArgs{User: 7}, waybill.ID("user-7/welcome"))
//
// A worker runs it, under a lease that it renews, and settles it with its token:
//
//	Welcome.Handle(worker, func(ctx context.Context, job *waybill.Job[WelcomeArgs]) error { … })
//	err = worker.Run(ctx)
//
// Deliveries are at least once: a job whose worker died, or whose lease ran out, is delivered again,
// while the first attempt may still be running. Job.IdempotencyKey and Job.Check are there for that.
//
// Redis 6.2.7 or newer is needed. The client is go-redis, the caller's own.
package waybill
