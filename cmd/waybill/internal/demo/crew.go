package demo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/devredis"
	"github.com/waybillhq/waybill/internal/outside"
)

// member is a worker process, seen from outside.
type member struct {
	*devredis.Process
	name string
}

// crew are the worker processes.
type crew struct {
	binary  string
	options WorkerOptions // but for the name
	hired   int
	members []*member // that were not killed
}

// hire starts one more worker.
func (c *crew) hire() (*member, error) {
	c.hired++
	o := c.options
	o.Name = fmt.Sprintf("worker-%d", c.hired)
	p, err := devredis.Command{Binary: c.binary, Args: o.args()}.Start()
	if err != nil {
		return nil, err
	}
	m := &member{p, o.Name}
	c.members = append(c.members, m)
	return m, nil
}

// kill kills a worker by its name.
func (c *crew) kill(name string) (*member, error) {
	at := slices.IndexFunc(c.members, func(m *member) bool { return m.name == name })
	if at < 0 {
		return nil, fmt.Errorf("%q called, and is none of the workers", name)
	}
	m := c.members[at]
	c.members = slices.Delete(c.members, at, at+1)
	m.Kill()
	return m, nil
}

// fallen tells of a worker that ended by itself.
func (c *crew) fallen() error {
	for _, m := range c.members {
		select {
		case <-m.Done():
			return fmt.Errorf("%s ended: %s", m.name, m.Output())
		default:
		}
	}
	return nil
}

func (c *crew) killAll() {
	for _, m := range c.members {
		m.Kill()
	}
}

// hire starts the two workers.
func (r *run) hire(context.Context) error {
	r.crew = &crew{binary: r.Binary, options: WorkerOptions{
		Redis: r.server.url, Mail: r.stage.mail.Addr(), Gateway: r.stage.gateway.URL(), Model: r.stage.model(), Ledger: r.stage.ledger(),
		Confirm: r.stage.confirm.Addr(), Accounts: r.stage.accounts.URL(),
	}}
	var names []string
	for range 2 {
		m, err := r.crew.hire()
		if err != nil {
			return err
		}
		names = append(names, fmt.Sprintf("%s is process %d", m.name, m.PID()))
	}
	r.step("Work", "%s. Each does %d jobs at a time, those of the subscriptions among them.", strings.Join(names, ", "), slots)
	return nil
}

// Kill is a worker that was killed. An event in a subscription is named TOPIC/SUBSCRIPTION/EVENT here.
type Kill struct {
	Worker  string   `json:"worker"`
	PID     int      `json:"pid"`
	Job     string   `json:"job"`     // whose effect was done, and whose end was not told
	In      []string `json:"in_hand"` // all jobs and events that it held
	Events  int      `json:"events_in_hand"`
	Again   int      `json:"delivered_again"`
	Attempt int      `json:"job_attempt"` // at which Job ended

	attempts map[string]int // of the jobs in hand, then
}

// killing is where a worker is to be killed.
type killing struct {
	held       <-chan outside.Visit
	queue, job string
	what       string // was done with the job
}

func (r *run) killAtEvent(ctx context.Context) error {
	return r.kill(ctx, killing{r.stage.accounts.Held(), subQueue(subBilling), r.plan.heldEvent(), "it has billed, and the accounts have taken,"})
}

func (r *run) killAtMail(ctx context.Context) error {
	return r.kill(ctx, killing{r.stage.mail.Held(), queueName, r.plan.held[0], "the mail server has taken"})
}

func (r *run) killAtPayment(ctx context.Context) error {
	return r.kill(ctx, killing{r.stage.gateway.Held(), queueName, r.plan.held[1], "the gateway has charged"})
}

// kill kills a worker at the worst moment: the effect of its job is done, and it has not heard so.
func (r *run) kill(ctx context.Context, at killing) error {
	v, err := r.until(ctx, at.held)
	if err != nil {
		return err
	}
	k := Kill{Worker: v.Caller, Job: called(at.queue, at.job)}
	if k.attempts, err = r.inHand(ctx, at.queue, at.job); err != nil { // while it lives, and renews what it holds
		return err
	}
	m, err := r.crew.kill(v.Caller)
	if err != nil {
		return err
	}
	k.PID = m.PID()
	k.In = slices.Sorted(maps.Keys(k.attempts))
	for _, name := range k.In {
		if strings.HasPrefix(name, ordered.Name()+"/") {
			k.Events++
		}
	}
	back := ""
	if len(r.account.Kills) == 0 {
		back = fmt.Sprintf(" and tells nobody: they come back when their leases (%v) are over", lease)
	}
	r.account.Kills = append(r.account.Kills, k)
	next, err := r.crew.hire()
	if err != nil {
		return err
	}
	r.step("Kill", "%s gets SIGKILL: %s %s, and it has not heard so. It held %d jobs, %d of them events%s. %s takes its place.",
		m.name, at.what, k.Job, len(k.In), k.Events, back, next.name)
	return nil
}

// inHand are the jobs of the worker that holds a given one, with their attempts.
func (r *run) inHand(ctx context.Context, queue, id string) (map[string]int, error) {
	of, err := r.client.Queue(queue).Get(ctx, id)
	if err != nil {
		return nil, err
	}
	holders, err := r.holders(ctx, of.Worker)
	if err != nil {
		return nil, err
	}
	active, err := r.listed(ctx, waybill.Filter{States: []waybill.State{waybill.StateActive}})
	if err != nil {
		return nil, err
	}
	held := map[string]int{}
	for name, j := range active {
		if slices.Contains(holders, j.Worker) {
			held[name] = j.Attempt
		}
	}
	return held, nil
}

// holders are the names under which a worker holds jobs, one a queue, given one of them.
func (r *run) holders(ctx context.Context, one string) ([]string, error) {
	all, err := r.client.Workers(ctx)
	names := []string{one}
	for _, w := range all {
		if slices.ContainsFunc(w.Queues, func(q waybill.WorkerQueue) bool { return q.Holder == one }) {
			for _, q := range w.Queues {
				names = append(names, q.Holder)
			}
		}
	}
	return names, err
}

// dismiss ends the workers that are left, as a supervisor does.
func (r *run) dismiss(context.Context) error {
	var names []string
	var errs []error
	for _, m := range r.crew.members {
		names = append(names, m.name)
		if err := m.Stop(grace); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	r.step("Stop", "%s get SIGTERM and end with status 0.", strings.Join(names, " and "))
	return nil
}
