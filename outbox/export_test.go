package outbox

import (
	"context"

	"github.com/waybillhq/waybill"
)

// CarryOnce is a round of a relay's sender, on the caller's goroutine: a hook may panic in it.
func CarryOnce(ctx context.Context, o *Outbox, c *waybill.Client) {
	r := &relay{o: o, c: c, over: ctx.Done(), lanes: map[string]*lane{}}
	if err := r.begin(ctx); err != nil {
		panic(err)
	}
	_, _, err := r.carry(ctx)
	if err != nil {
		panic(err)
	}
}

// HearThenCarry is a relay that enters its queues, reads, and then does a round of its sender.
func HearThenCarry(ctx context.Context, o *Outbox, c *waybill.Client) {
	r := &relay{o: o, c: c, over: ctx.Done(), lanes: map[string]*lane{}}
	err := r.begin(ctx)
	if err == nil {
		_, _, err = r.hear(ctx)
	}
	if err == nil {
		_, _, err = r.carry(ctx)
	}
	if err != nil {
		panic(err)
	}
}

// Statement is a statement with its arguments; a slice stands for many values.
func Statement(o *Outbox, name string, args ...any) (string, []any) {
	for i, a := range args {
		switch a := a.(type) {
		case []int64:
			args[i] = listOf(a)
		case []string:
			args[i] = listOf(a)
		}
	}
	return o.query(name, args...)
}
