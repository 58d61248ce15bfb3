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
