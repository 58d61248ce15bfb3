package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

const (
	defaultURL = "redis://127.0.0.1:6379/0"
	envURL     = "WAYBILL_REDIS"
)

// connection is a client with the Redis client that it stands on.
type connection struct {
	*waybill.Client
	rdb redis.UniversalClient
}

// Close closes both.
func (c connection) Close() { _ = errors.Join(c.Client.Close(), c.rdb.Close()) }

// connect makes the client. It sends nothing. listeners is how many connections wait for work.
func (a *app) connect(listeners int) (connection, error) {
	t, err := a.target()
	if err != nil {
		return connection{}, err
	}
	rdb := t.open(10*runtime.GOMAXPROCS(0) + 2*listeners)
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{Prefix: a.prefix})
	if err != nil {
		return connection{}, errors.Join(err, rdb.Close())
	}
	return connection{client, rdb}, nil
}

// target reads the URL of Redis. What is wrong with it is not told in detail: the detail may be a
// part of the password.
func (a *app) target() (target, error) {
	url, from, err := a.url()
	if err != nil {
		return target{}, err
	}
	t, err := parseTarget(url)
	if err != nil {
		return target{}, &usageError{"the Redis URL of " + from + " can't be read: give " +
			"redis://[USER:PASSWORD@]HOST[:PORT][/DB], rediss://…, unix://PATH, redis+sentinel://…/MASTER or " +
			"redis+cluster://…, special characters of the password percent-encoded"}
	}
	return t, nil
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
