package main

import (
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
)

// target is the Redis that a URL names: a server, a server that Sentinels watch, or a cluster. One
// of the three is there.
type target struct {
	server   *redis.Options
	sentinel *redis.FailoverOptions
	cluster  *redis.ClusterOptions
}

// Schemes of URLs beside those that go-redis reads itself; with TLS they begin with rediss.
const (
	schemeSentinel = "+sentinel"
	schemeCluster  = "+cluster"
)

// Ports of hosts that name none.
const (
	portRedis    = "6379"
	portSentinel = "26379"
)

// errAddress says that a URL can't be read, and not why: the reason may quote a part of the password.
var errAddress = errors.New("not a URL of Redis")

// parseTarget reads the URL of a Redis.
func parseTarget(text string) (target, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	base, kind, _ := strings.Cut(scheme, "+")
	if kind == "" {
		o, err := redis.ParseURL(text)
		return target{server: o}, err
	}
	if base != "redis" && base != "rediss" || !ok {
		return target{}, errAddress
	}
	switch p := splitURL(base, rest); "+" + kind {
	case schemeSentinel:
		o, err := p.sentinel()
		return target{sentinel: o}, err
	case schemeCluster:
		o, err := p.cluster()
		return target{cluster: o}, err
	}
	return target{}, errAddress
}

// urlParts are the parts of a URL with several hosts, which package url does not read. Each is as
// spelled.
type urlParts struct {
	scheme, user string // user: with its "@", or ""
	hosts        []string
	path, query  string
}

func splitURL(scheme, rest string) urlParts {
	p := urlParts{scheme: scheme}
	rest, p.query, _ = strings.Cut(rest, "?")
	rest, p.path, _ = strings.Cut(rest, "/")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		p.user, rest = rest[:at+1], rest[at+1:]
	}
	p.hosts = strings.Split(rest, ",")
	return p
}

// options are the query as values, without those that other parts of the URL tell.
func (p urlParts) options(reserved ...string) (url.Values, error) {
	q, err := url.ParseQuery(p.query)
	for _, name := range append(reserved, "addr") {
		if q.Has(name) {
			err = errAddress
		}
	}
	return q, err
}

// sentinel reads redis+sentinel://[USER:PASSWORD@]HOST[:PORT],…/MASTER[/DB]. User and password are
// those of the Redis server; the Sentinels' own are options.
func (p urlParts) sentinel() (*redis.FailoverOptions, error) {
	q, err := p.options("master_name", "username", "password", "db")
	if err != nil {
		return nil, err
	}
	master, db, _ := strings.Cut(p.path, "/")
	master, err = url.PathUnescape(master)
	if err != nil || master == "" {
		return nil, errAddress
	}
	user, err := url.Parse("redis://" + p.user + "host")
	if err != nil {
		return nil, err
	}
	own := url.UserPassword(q.Get("sentinel_username"), q.Get("sentinel_password"))
	q.Del("sentinel_username")
	q.Del("sentinel_password")
	q.Set("master_name", master)
	if user.User != nil {
		password, _ := user.User.Password()
		q.Set("username", user.User.Username())
		q.Set("password", password)
	}
	text, err := p.text(own.String()+"@", "/"+db, q, portSentinel)
	if err != nil {
		return nil, err
	}
	return redis.ParseFailoverURL(text)
}

// cluster reads redis+cluster://[USER:PASSWORD@]HOST[:PORT],…. A cluster has no databases but 0.
func (p urlParts) cluster() (*redis.ClusterOptions, error) {
	q, err := p.options()
	if err != nil || p.path != "" && p.path != "0" {
		return nil, errAddress
	}
	text, err := p.text(p.user, "", q, portRedis)
	if err != nil {
		return nil, err
	}
	return redis.ParseClusterURL(text)
}

// text is the URL as go-redis reads it: the first host in its place, the others as options.
func (p urlParts) text(user, path string, q url.Values, port string) (string, error) {
	for i, h := range p.hosts {
		host, err := withPort(h, port)
		if err != nil {
			return "", err
		}
		if p.hosts[i] = host; i > 0 {
			q.Add("addr", host)
		}
	}
	return p.scheme + "://" + user + p.hosts[0] + path + "?" + q.Encode(), nil
}

func withPort(host, port string) (string, error) {
	if name, given, err := net.SplitHostPort(host); err == nil {
		if name == "" || given == "" {
			return "", errAddress
		}
		return host, nil
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if bare == "" || bare == host && strings.Contains(host, ":") {
		return "", errAddress
	}
	return net.JoinHostPort(bare, port), nil
}
