package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
)

// machine is what figures were made on and of.
type machine struct {
	CPUs    int    `json:"cpus"`
	System  string `json:"system"`
	Server  string `json:"server"`
	Go      string `json:"go"`
	Commit  string `json:"commit"` // of Waybill; "-dirty" behind it: with changes on top
	Asynq   string `json:"asynq"`
	GoRedis string `json:"go_redis"`
}

// describe starts a server once, to ask it what it is.
func describe(ctx context.Context) (machine, error) {
	s, err := startServer(ctx)
	if err != nil {
		return machine{}, err
	}
	defer s.close()
	m := machine{
		CPUs: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Server: s.version, Go: runtime.Version(),
		Commit: "unknown",
	}
	if out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--exclude=*").Output(); err == nil {
		m.Commit = strings.TrimSpace(string(out))
	}
	info, _ := debug.ReadBuildInfo()
	for _, dep := range info.Deps {
		switch dep.Path {
		case "github.com/hibiken/asynq":
			m.Asynq = dep.Version
		case "github.com/redis/go-redis/v9":
			m.GoRedis = dep.Version
		}
	}
	return m, nil
}

// profiles are the files that profiles are written to; "" = none.
type profiles struct{ cpu, mem string }

// around runs do under the profiles.
func (p profiles) around(do func() error) error {
	if p.cpu != "" {
		f, err := os.Create(p.cpu)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	if err := do(); err != nil || p.mem == "" {
		return err
	}
	f, err := os.Create(p.mem)
	if err != nil {
		return err
	}
	defer f.Close()
	return pprof.Lookup("allocs").WriteTo(f, 0)
}
