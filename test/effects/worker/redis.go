package main

import (
	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/test/effects"
)

// settle is around the settlements on their way to Redis.
func (t *trap) settle(args []any, next func() error) error {
	a := t.settling(args)
	t.reach(a, effects.Settling)
	err := next()
	switch {
	case a == nil || redis.HasErrorPrefix(err, "NOSCRIPT"): // the script is loaded, and it is sent again
	case err != nil:
		t.reach(a, effects.Unanswered)
	default:
		t.settled(a)
	}
	return err
}
