// Package demo shows the queue at work: a mixed batch of five kinds of jobs, a topic with three subscriptions, worker
// processes of which three are killed at the worst moment, and an account that adds up. [Run] is the demo, [Work] the program of its workers.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

// ErrWrong says that the account does not add up. The error that wraps it says where.
var ErrWrong = errors.New("the account is wrong")

// Options of a demo.
type Options struct {
	Binary   string              // path of the program, which knows the commands demo-worker and dev
	Called   string              // how the user calls it
	Out      io.Writer           // for the story; nil = it is not told
	Live     bool                // Out is a terminal on which a line can be rewritten
	Width    func() int          // of Out, in columns; nil, or an answer of 0 = not known
	Bold     func(string) string // nil = as it is
	Seed     uint64              // from which everything is drawn
	InMemory bool                // use the stand-in also where a Redis is installed
	Keep     bool                // leave Redis running, and the files
}

// run is one run of the demo.
type run struct {
	Options
	*story
	began   time.Time
	shown   time.Time // when progress was last told
	plan    *plan
	stage   *stage
	server  *server
	crew    *crew
	client  *waybill.Client
	account Account
	check   func(Account) []string
	reached bool // the account was made: there is something to keep
}

// Run runs the demo and gives its account. Nothing is left behind, also after an error, unless Keep is set and the
// account was reached. Errors: ErrWrong, with the account; the cause of ctx's end; what stood in the way.
func Run(ctx context.Context, o Options) (Account, error) {
	return checked(ctx, o, Account.complaints)
}

// checked is Run with a check of its own.
func checked(ctx context.Context, o Options, check func(Account) []string) (_ Account, err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if o.Bold == nil {
		o.Bold = func(s string) string { return s }
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	r := &run{Options: o, began: time.Now(), shown: time.Now(), check: check}
	r.story = &story{
		out: o.Out, live: o.Live, width: o.Width, bold: o.Bold,
		broken: func(err error) { fail(fmt.Errorf("its output can't be written: %w", err)) },
	}
	defer func() { err = errors.Join(err, r.close()) }()
	for _, do := range []func(context.Context) error{
		r.set, r.enqueue, r.publish, r.hire, r.killAtEvent, r.killAtMail, r.killAtPayment, r.settle, r.dismiss, r.settleUp,
	} {
		if err = do(ctx); err == nil && ctx.Err() == nil {
			continue
		}
		r.wipe()
		if ctx.Err() != nil && !errors.Is(err, ErrWrong) {
			err = fmt.Errorf("demo: %w", context.Cause(ctx))
		}
		return r.account, err
	}
	return r.account, nil
}

// set makes all that is there before the first job.
func (r *run) set(ctx context.Context) (err error) {
	r.plan = newPlan(r.Seed)
	if r.stage, err = setStage(ctx, r.plan); err != nil {
		return err
	}
	r.plan.add(r.stage, r.stage.hooks.URL())
	if r.server, err = startServer(ctx, r.Options, r.stage.dir); err != nil {
		return err
	}
	url, err := redis.ParseURL(r.server.url)
	if err != nil {
		return err
	}
	rdb := redis.NewClient(url)
	r.server.rdb = rdb
	if r.client, err = waybill.NewClient(rdb, waybill.ClientOptions{}); err != nil {
		return err
	}
	r.step("Redis", "%s", r.server.about)
	r.step("Outside", "Two mail servers, a payment gateway and two receivers of webhooks run in this process: slow, at times busy, "+
		"and at times their answer is lost. All is drawn from seed %d.", r.Seed)
	return nil
}

// enqueue sends the jobs, and some of them again.
func (r *run) enqueue(ctx context.Context) error {
	sent, err := r.client.EnqueueMany(ctx, r.plan.requests)
	if err != nil {
		return err
	}
	again, err := r.client.EnqueueMany(ctx, r.plan.requests[:sentAgain])
	if err != nil {
		return err
	}
	r.step("Enqueue", "%d jobs, shuffled: %d mails, %d payments, %d thumbnails, %d tables to score, %d webhooks. "+
		"%d have priority, %d are due later. Answer: %d accepted.",
		len(sent), mails, payments, pictures, tables, hooks, firstOnes, lateMails, count(sent, waybill.OutcomeAccepted))
	r.step("", "%d of them again, as after a lost answer: %d duplicates, which add nothing.",
		len(again), count(again, waybill.OutcomeDuplicate))
	return nil
}

func count(sent []waybill.Enqueued, o waybill.Outcome) (n int) {
	for _, e := range sent {
		if e.Outcome == o {
			n++
		}
	}
	return n
}

// settle waits until no job is live, and no event left.
func (r *run) settle(ctx context.Context) error {
	if _, err := r.until(ctx, nil); err != nil {
		return err
	}
	r.step("Settled", "after %.1f s: no job and no event waits, none is in hand.", time.Since(r.began).Seconds())
	return nil
}

// close takes everything down again.
func (r *run) close() error {
	var errs []error
	if r.crew != nil {
		r.crew.killAll()
	}
	if r.client != nil {
		errs = append(errs, r.client.Close())
	}
	keep := r.Keep && r.reached
	if r.server != nil {
		errs = append(errs, r.server.close(keep))
	}
	if r.stage != nil {
		errs = append(errs, r.stage.close(keep))
	}
	return errors.Join(errs...)
}
