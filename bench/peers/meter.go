package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage is what was used since the start, or between two moments.
type usage struct {
	at       time.Time
	redisCPU float64 // of all threads of the server, µs
	commands float64 // that the server carried out, those inside scripts too
	client   float64 // CPU of this process, µs
	allocs   float64 // objects
	bytes    float64 // allocated
	sent     float64 // commands by clients
	verbs    map[string]int
}

// read takes all the figures. The time stands nearest to what is measured: first after it (end),
// last before it.
func (s *server) read(ctx context.Context, end bool) (usage, error) {
	var u usage
	if end {
		u.at = time.Now()
	}
	u.client = processCPU()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	u.allocs, u.bytes = float64(mem.Mallocs), float64(mem.TotalAlloc)
	verbs, total := s.sent.read()
	u.verbs, u.sent = verbs, float64(total)
	info, err := s.info(ctx)
	u.redisCPU = 1e6 * (info["used_cpu_user"] + info["used_cpu_sys"])
	u.commands = info["total_commands_processed"]
	if !end {
		u.at = time.Now()
	}
	return u, err
}

// info reads the numbers of INFO that the figures need.
func (s *server) info(ctx context.Context) (map[string]float64, error) {
	numbers := map[string]float64{}
	for _, section := range []string{"cpu", "stats"} {
		raw, err := s.rdb.Info(ctx, section).Result()
		if err != nil {
			return nil, fmt.Errorf("info %s: %w", section, err)
		}
		for line := range strings.Lines(raw) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			if v, err := strconv.ParseFloat(value, 64); err == nil {
				numbers[name] = v
			}
		}
	}
	return numbers, nil
}

// processCPU is the time that this process has spent on processors, µs.
func processCPU() float64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	micro := func(t syscall.Timeval) float64 { return float64(t.Sec)*1e6 + float64(t.Usec) }
	return micro(r.Utime) + micro(r.Stime)
}

// timed measures do, which takes so many jobs through the system.
func (s *stage) timed(ctx context.Context, jobs int, do func() error) (trial, error) {
	runtime.GC() // of what came before
	before, err := s.read(ctx, false)
	if err != nil {
		return trial{}, err
	}
	if err := s.profile.around(do); err != nil {
		return trial{}, err
	}
	after, err := s.read(ctx, true)
	if err != nil {
		return trial{}, err
	}
	return newTrial(jobs, before, after), nil
}
