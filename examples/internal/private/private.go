// Package private gives the tests of the examples a Redis of their own.
package private

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/devredis"
)

// Redis starts a server, and gives a client of it and what ends both. It panics where that fails: examples have no
// other way to say so.
func Redis() (rdb *redis.Client, end func()) {
	srv, err := devredis.Start(context.Background(), devredis.Options{})
	if err != nil {
		panic(err)
	}
	o, err := redis.ParseURL(srv.URL())
	if err != nil {
		panic(err)
	}
	rdb = redis.NewClient(o)
	return rdb, func() {
		_ = rdb.Close()
		_ = srv.Close()
	}
}
