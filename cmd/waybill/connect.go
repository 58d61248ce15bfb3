package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/waybillhq/waybill"
)

const (
	defaultURL  = "redis://127.0.0.1:6379/0"
	envURL      = "WAYBILL_REDIS"
	dialTimeout = 3 * time.Second
)

// connection is a client with the Redis client that it stands on.
type connection struct {
	*waybill.Client
	rdb *redis.Client
}

// Close closes both.
func (c connection) Close() { _ = errors.Join(c.Client.Close(), c.rdb.Close()) }

// connect makes the client. It sends nothing. listeners is how many connections wait for work.
func (a *app) connect(listeners int) (connection, error) {
	o, err := a.options()
	if err != nil {
		return connection{}, err
	}
	o.MaxRetries = -1 // the store repeats by itself, and knows what may have happened
	o.DialerRetries = 1
	if o.DialTimeout == 0 {
		o.DialTimeout = dialTimeout
	}
	if o.PoolSize == 0 {
		o.PoolSize = 10*runtime.GOMAXPROCS(0) + 2*listeners
	}
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	dial := redis.NewDialer(o)
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return conn, dialError(err, network)
	}
	rdb := redis.NewClient(o)
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{Prefix: a.prefix})
	if err != nil {
		return connection{}, errors.Join(err, rdb.Close())
	}
	return connection{client, rdb}, nil
}

// dialError marks what went wrong before anything was sent, TLS included.
func dialError(err error, network string) error {
	var op *net.OpError
	if err == nil || errors.As(err, &op) && op.Op == "dial" {
		return err
	}
	return &net.OpError{Op: "dial", Net: network, Err: err}
}

// options reads the URL of Redis. What is wrong with it is not told in detail: the detail may be a
// part of the password.
func (a *app) options() (*redis.Options, error) {
	url, from, err := a.url()
	if err != nil {
		return nil, err
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, &usageError{"the Redis URL of " + from + " can't be read: give " +
			"redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss://… or unix://PATH, " +
			"special characters of the password percent-encoded"}
	}
	return o, nil
}

// url gives the URL of Redis and where it is from.
func (a *app) url() (url, from string, err error) {
	switch {
	case a.redisURL != "" && a.redisFile != "":
		return "", "", &usageError{"--redis and --redis-file exclude each other: give one"}
	case a.redisURL != "":
		return a.redisURL, "--redis", nil
	case a.redisFile != "":
		url, err = a.urlFile()
		return url, "--redis-file", err
	}
	if url = a.getenv(envURL); url != "" {
		return url, envURL, nil
	}
	return defaultURL, "the default", nil
}

// urlFile reads the URL from a file and warns where others may read it too.
func (a *app) urlFile() (string, error) {
	raw, err := os.ReadFile(a.redisFile)
	if err != nil {
		return "", &usageError{fmt.Sprintf("--redis-file: %v", err)}
	}
	if info, err := os.Stat(a.redisFile); err == nil && info.Mode().IsRegular() && info.Mode()&othersRead != 0 {
		a.say("warning: other users can read %s: chmod 600 it", a.redisFile)
	}
	return strings.TrimSpace(string(raw)), nil
}

const othersRead fs.FileMode = 0o044

// getenv is the last value of a variable, or "".
func (a *app) getenv(name string) (value string) {
	for _, line := range a.env {
		if v, ok := strings.CutPrefix(line, name+"="); ok {
			value = v
		}
	}
	return value
}
