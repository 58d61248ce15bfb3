package receipt

import "context"

// frame is an effect that is being applied, in the context that its function gets.
type frame struct {
	r     *Receipts
	scope string
	id    string
	outer *frame
}

type frameKey struct{}

// inside marks the context of a function as that of an effect.
func (r *Receipts) inside(ctx context.Context, k Key) context.Context {
	outer, _ := ctx.Value(frameKey{}).(*frame)
	return context.WithValue(ctx, frameKey{}, &frame{r: r, scope: k.Scope, id: k.ID, outer: outer})
}

// check says which limit a key breaks, or that it would wait for itself: an effect inside an effect of the same key, or a
// second transaction inside the first one, which has SQLite's only write lock, or a small pool's last connection.
func (r *Receipts) check(ctx context.Context, k Key, held bool) error {
	if err := k.check(); err != nil {
		return err
	}
	f, _ := ctx.Value(frameKey{}).(*frame)
	for ; f != nil; f = f.outer {
		switch {
		case f.r != r:
		case f.scope == k.Scope && f.id == k.ID:
			return invalid("receipt id", "%q is asked for inside its own effect: name a step", k.ID)
		case !held:
			return invalid("transaction", "of receipt %q is opened inside the effect of %q, and could wait for it: use InTx", k.ID, f.id)
		}
	}
	return nil
}
