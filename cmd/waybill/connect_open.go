package main

import (
	"cmp"
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	dialTimeout = 3 * time.Second
	// noRetries: the store repeats by itself, and knows what may have happened.
	noRetries = -1
	dialTries = 1
)

// open makes a client with a pool of that size, unless the URL says otherwise. It sends nothing.
func (t target) open(pool int) redis.UniversalClient {
	quiet := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	switch {
	case t.cluster != nil:
		o := t.cluster
		o.MaxRetries, o.DialerRetries, o.MaintNotificationsConfig = noRetries, dialTries, quiet
		o.DialTimeout, o.PoolSize = cmp.Or(o.DialTimeout, dialTimeout), cmp.Or(o.PoolSize, pool)
		o.Dialer = dialer(&redis.Options{DialTimeout: o.DialTimeout, TLSConfig: o.TLSConfig})
		return redis.NewClusterClient(o)
	case t.sentinel != nil:
		o := t.sentinel
		o.MaxRetries, o.DialerRetries = noRetries, dialTries
		o.DialTimeout, o.PoolSize = cmp.Or(o.DialTimeout, dialTimeout), cmp.Or(o.PoolSize, pool)
		o.Dialer = dialer(&redis.Options{DialTimeout: o.DialTimeout, TLSConfig: o.TLSConfig})
		rdb := redis.NewFailoverClient(o)
		rdb.AddHook(dialHook{}) // also where no Sentinel tells who is the master
		return rdb
	}
	o := t.server
	o.MaxRetries, o.DialerRetries, o.MaintNotificationsConfig = noRetries, dialTries, quiet
	o.DialTimeout, o.PoolSize = cmp.Or(o.DialTimeout, dialTimeout), cmp.Or(o.PoolSize, pool)
	o.Dialer = dialer(o)
	return redis.NewClient(o)
}

// dialer dials as go-redis does, and marks its errors.
func dialer(o *redis.Options) redis.DialHook {
	dial := redis.NewDialer(o)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return conn, dialError(err, network)
	}
}

// dialError marks what went wrong before anything was sent, TLS included.
func dialError(err error, network string) error {
	var op *net.OpError
	if err == nil || errors.As(err, &op) && op.Op == "dial" {
		return err
	}
	return &net.OpError{Op: "dial", Net: network, Err: err}
}

// dialHook marks the errors of a dial that begins with the question where to.
type dialHook struct{}

func (dialHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		return conn, dialError(err, network)
	}
}

func (dialHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (dialHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
