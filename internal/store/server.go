package store

import (
	"context"
	"strconv"
	"strings"
)

// Server is what a Redis says of itself. What it did not say is "" or 0.
type Server struct {
	Name, Version   string // "redis" or "valkey", and its version
	Role            string // master or replica
	Policy          string // maxmemory-policy
	MaxMemory, Used int64  // bytes; MaxMemory 0 = unbounded
	AOF             bool   // appendonly
	Fsync           string // appendfsync; "" where it may not be asked
	Evicted         int64  // keys thrown away since the server's start
}

// Server asks the server for what decides about losses; of a cluster, one of its nodes.
func (s *Store) Server(ctx context.Context) (Server, error) {
	raw, err := command(ctx, s.rdb, func() (string, error) { return s.rdb.Info(ctx, "everything").Result() })
	if err != nil {
		return Server{}, readError("info", s.prefix, err)
	}
	facts := map[string]string{}
	for line := range strings.Lines(raw) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			facts[name] = value
		}
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(facts[name], 10, 64)
		return n
	}
	out := Server{
		Name: "redis", Version: facts["redis_version"], Role: facts["role"], Policy: facts["maxmemory_policy"],
		MaxMemory: number("maxmemory"), Used: number("used_memory"), AOF: facts["aof_enabled"] == "1",
		Evicted: number("evicted_keys"),
	}
	if v := facts["valkey_version"]; v != "" {
		out.Name, out.Version = "valkey", v
	}
	if out.Role == "slave" { // as the server spells it
		out.Role = "replica"
	}
	said, _ := command(ctx, s.rdb, func() (map[string]string, error) { // many servers do not permit it
		return s.rdb.ConfigGet(ctx, "appendfsync").Result()
	})
	out.Fsync = said["appendfsync"]
	return out, nil
}
