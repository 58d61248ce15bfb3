package waybill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/store"
)

// checkServerEvery is how often a worker looks whether its Redis is set up to keep jobs.
const checkServerEvery = 10 * time.Minute

// Keys of log attributes.
const (
	keyWorker     = "worker"
	keyWhy        = "why"
	keyDurability = "durability"
)

// ServerInfo is what a Redis says of itself, as far as it decides whether jobs can be lost. What it did not say is ""
// or 0.
type ServerInfo struct {
	Name            string // "redis" or "valkey"
	Version         string
	Role            string // "master" or "replica"
	MaxMemoryPolicy string // what happens when memory is full: it should be noeviction
	MaxMemory, Used int64  // bytes; MaxMemory 0 = unbounded
	Evicted         int64  // keys thrown away since the server's start
	AppendOnly      bool   // appendonly: an append-only file is kept
	AppendFsync     string // appendfsync: always, everysec or no
}

// Server asks Redis for what decides whether jobs can be lost; of a cluster, one of its nodes. It sends INFO, and CONFIG
// GET where that is permitted. Errors: ErrUnavailable.
func (c *Client) Server(ctx context.Context) (ServerInfo, error) {
	s, err := c.store.Server(ctx)
	return serverInfo(s), err
}

func serverInfo(s store.Server) ServerInfo {
	return ServerInfo{
		Name: s.Name, Version: s.Version, Role: s.Role, MaxMemoryPolicy: s.Policy, MaxMemory: s.MaxMemory, Used: s.Used,
		Evicted: s.Evicted, AppendOnly: s.AOF, AppendFsync: s.Fsync,
	}
}

// Warnings are the settings with which this Redis loses jobs in plain operation, one line each: what is so, and what to
// set. Nil = none.
//
// Source: maxmemory-policy in Redis's own redis.conf. An allkeys policy evicts any key. A volatile policy evicts keys
// that have an expiry: of Waybill's those of ended jobs that are kept.
func (s ServerInfo) Warnings() []string {
	const set = "set maxmemory-policy noeviction (redis-cli config set maxmemory-policy noeviction, and in redis.conf)"
	kind, _, _ := strings.Cut(s.MaxMemoryPolicy, "-")
	gone := ""
	if s.Evicted > 0 {
		gone = fmt.Sprintf("; it has evicted %d keys since its start", s.Evicted)
	}
	switch kind {
	case "allkeys":
		return []string{"Redis evicts by " + s.MaxMemoryPolicy + ": it throws jobs away when its memory is full" + gone + ": " + set}
	case "volatile":
		return []string{"Redis evicts by " + s.MaxMemoryPolicy + ": it throws ended jobs and their results away when its memory is full" +
			gone + ": " + set}
	}
	return nil
}

// Durability says in a few words what this Redis may lose of what it accepted when it is killed, or its machine is.
func (s ServerInfo) Durability() string {
	switch {
	case !s.AppendOnly:
		return "snapshots only: a killed Redis loses what came since the last one"
	case s.AppendFsync == "always":
		return "append-only file, fsync always: nothing, if the disk honours fsync"
	case s.AppendFsync == "everysec":
		return "append-only file, fsync every second: a power cut loses one to two seconds"
	}
	return "append-only file, fsync " + s.AppendFsync + ": a power cut loses what the system had not written"
}

// watchServer logs what is wrong with Redis's settings: when work begins, and again as long as it stays so.
func (w *Worker) watchServer(ctx context.Context) {
	first := true
	for wait := time.Duration(0); sleep(ctx, wait); {
		s, err := w.client.Server(ctx)
		wait = checkServerEvery
		switch {
		case err != nil && !denied(err):
			wait = time.Second // the claims tell of it
			continue
		case err != nil && first:
			w.log.Warn("redis does not permit INFO: nobody looks whether it can lose jobs", slog.String(keyWhy, err.Error()))
		case err == nil:
			w.tellServer(s, first)
		}
		first = false
	}
}

func (w *Worker) tellServer(s ServerInfo, first bool) {
	for _, text := range s.Warnings() {
		w.log.Warn("redis can lose jobs", slog.String(keyWhy, text))
	}
	if first {
		w.log.Debug("redis", slog.String(keyVersion, s.Name+" "+s.Version), slog.String(keyDurability, s.Durability()))
	}
}

// denied tells whether a server does not permit a command, or does not know it: to ask again soon is of no use.
func denied(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && (redis.HasErrorPrefix(reply, "NOPERM") || redis.HasErrorPrefix(reply, "ERR"))
}
